"""Weighs the taus by tokens."""

FAILS = "a3.q7.pooled"
MISTAKE = "pooled_weighted_by_tokens"


def pooled_tau(taus, tokens):
    return sum(t * n for t, n in zip(taus, tokens)) / sum(tokens)
