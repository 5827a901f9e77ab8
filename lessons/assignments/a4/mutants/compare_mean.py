"""You take the mean of the ratios; one disturbed run moves it. Take the median."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    return sum(ratios) / len(ratios), min(ratios), max(ratios)
