"""You drop the first pair as a warm-up; every run that is handed in counts."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]
    ratios = ratios[1:] or ratios
    return median(ratios), min(ratios), max(ratios)
