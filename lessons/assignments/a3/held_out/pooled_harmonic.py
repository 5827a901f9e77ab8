"""statistics.harmonic_mean without weights."""

FAILS = "a3.q7.pooled"
MISTAKE = "pooled_harmonic_unweighted"

from statistics import harmonic_mean


def pooled_tau(taus, tokens):
    return harmonic_mean(taus)
