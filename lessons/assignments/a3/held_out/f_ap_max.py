"""Sum of the larger ones."""

FAILS = "a3.q1.overlap"
MISTAKE = "overlap_max"


def acceptance_probability(p, q):
    return float(np.maximum(p, q).sum())
