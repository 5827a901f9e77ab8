"""Compares each run with every run of the other kind."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = sorted((a / m) / (b / n) for a, m in plain for b, n in speculative)
    return median(ratios), ratios[0], ratios[-1]
