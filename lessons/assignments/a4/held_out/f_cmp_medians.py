"""Ratio of medians."""

FAILS = "a4.q8.compare"
MISTAKE = "compare_medians"


def compare(plain, speculative):
    def f(runs):
        return [s / n for s, n in runs]

    r = [a / b for a, b in zip(f(plain), f(speculative))]
    return median(f(plain)) / median(f(speculative)), min(r), max(r)
