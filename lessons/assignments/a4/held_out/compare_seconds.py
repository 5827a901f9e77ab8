"""Ignores the numbers of tokens."""

FAILS = "a4.q8.compare"
MISTAKE = "compare_whole_runs"


def compare(plain, speculative):
    ratios = [a[0] / b[0] for a, b in zip(plain, speculative, strict=True)]
    ratios.sort()
    return median(ratios), ratios[0], ratios[-1]
