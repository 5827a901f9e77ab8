"""Mean."""

FAILS = "a4.q8.compare"
MISTAKE = "compare_mean"


def compare(plain, speculative):
    r = [(a[0] / a[1]) / (b[0] / b[1]) for a, b in zip(plain, speculative)]
    return sum(r) / len(r), min(r), max(r)
