"""Speculative over plain."""

FAILS = "a4.q8.compare"
MISTAKE = "compare_inverted"


def compare(plain, speculative):
    ratios = sorted((t / m) / (s / n) for (s, n), (t, m) in zip(plain, speculative))
    return median(ratios), ratios[0], ratios[-1]
