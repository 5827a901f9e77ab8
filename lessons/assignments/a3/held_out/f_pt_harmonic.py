"""Harmonic, unweighted."""

FAILS = "a3.q7.pooled"
MISTAKE = "pooled_harmonic_unweighted"


def pooled_tau(taus, tokens):
    return len(taus) / sum(1 / t for t in taus)
