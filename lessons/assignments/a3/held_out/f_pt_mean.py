"""Mean."""

FAILS = "a3.q7.pooled"
MISTAKE = "pooled_mean"


def pooled_tau(taus, tokens):
    return sum(taus) / len(taus)
