"""Sorted before pairing."""

FAILS = "a4.q8.compare"
MISTAKE = ""


def compare(plain, speculative):
    a, b = sorted(s / n for s, n in plain), sorted(s / n for s, n in speculative)
    r = [x / y for x, y in zip(a, b)]
    return median(r), min(r), max(r)
