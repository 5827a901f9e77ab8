"""You take the ratio in the middle of the runs' order; sort the ratios first."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    low, high = (len(ratios) - 1) // 2, len(ratios) // 2
    return (ratios[low] + ratios[high]) / 2, min(ratios), max(ratios)
