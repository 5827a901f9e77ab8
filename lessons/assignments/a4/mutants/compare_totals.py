"""You add all runs up; take the ratio of each pair, then the median."""

FAILS = "a4.q8.compare"


def compare(plain, speculative):
    ratios = [(s / n) / (t / m) for (s, n), (t, m) in zip(plain, speculative)]

    def per_token(runs):
        return sum(s for s, _ in runs) / sum(n for _, n in runs)

    return per_token(plain) / per_token(speculative), min(ratios), max(ratios)
