"""With an even number of pairs the median is the mean of the middle two."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = sorted((s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative))
    return ratios[len(ratios) // 2], ratios[0], ratios[-1]
