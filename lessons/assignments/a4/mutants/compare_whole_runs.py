"""You compare whole runs; they produced different numbers of tokens. Compare times per token."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = [s / t for (s, _), (t, _) in zip(plain, speculative)]
    return median(ratios), min(ratios), max(ratios)
