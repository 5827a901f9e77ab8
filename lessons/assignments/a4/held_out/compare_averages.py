"""The mean of the pairs."""

FAILS = "a4.q8.compare"
MISTAKE = "compare_mean"

from statistics import fmean


def compare(plain, speculative):
    ratios = [s * m / (n * t) for (s, n), (t, m) in zip(plain, speculative)]
    return fmean(ratios), min(ratios), max(ratios)
