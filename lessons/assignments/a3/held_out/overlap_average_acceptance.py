"""Averages min(1, p/q) over the vocabulary."""

FAILS = "a3.q1.overlap"
MISTAKE = "overlap_mean_ratio"


def acceptance_probability(p, q):
    ratios = [min(1.0, a / b) if b > 0 else 0.0 for a, b in zip(p, q)]
    return float(np.mean(ratios))
