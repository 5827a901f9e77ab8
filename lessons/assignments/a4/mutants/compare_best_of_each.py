"""You compare the best run of each side; the best of several is not what a user gets."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    return min(s / n for s, n in plain) / min(t / m for t, m in speculative), min(ratios), max(ratios)
