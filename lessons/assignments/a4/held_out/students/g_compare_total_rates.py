"""Gives the ratio of the totals, and the pairs' lowest and highest."""

FAILS = "a4.q8.compare"
MISTAKE = "compare_totals"


def compare(plain, speculative):
    def rate(runs):
        return sum(t for t, _ in runs) / sum(n for _, n in runs)

    pairs = [(a / m) / (b / n) for (a, m), (b, n) in zip(plain, speculative)]
    return rate(plain) / rate(speculative), min(pairs), max(pairs)
