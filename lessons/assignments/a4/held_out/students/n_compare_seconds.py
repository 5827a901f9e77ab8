"""Compares seconds, whatever the tokens."""

FAILS = "a4.q8.compare"
MISTAKE = "compare_whole_runs"


def compare(plain, speculative):
    r = sorted(a / b for (a, _), (b, _) in zip(plain, speculative))
    return median(r), r[0], r[-1]
