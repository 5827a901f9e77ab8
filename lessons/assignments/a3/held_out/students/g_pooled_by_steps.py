"""Weighs the texts' tau by their tokens."""

FAILS = "a3.q7.pooled"
MISTAKE = "pooled_weighted_by_tokens"


def pooled_tau(taus, tokens):
    return float(np.average(taus, weights=tokens))
