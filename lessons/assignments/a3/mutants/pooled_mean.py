"""You take the plain mean of the taus; tokens and steps are added up separately, then divided."""

FAILS = "a3.q7.pooled"


def pooled_tau(taus, tokens):
    return sum(taus) / len(taus)
