"""You divide the median of one side by the median of the other; pair run i with run i, which met the same machine."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    middle = median(s / n for s, n in plain) / median(t / m for t, m in speculative)
    return middle, min(ratios), max(ratios)
