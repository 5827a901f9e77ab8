"""You take the larger of p and q for each token; the overlap is the smaller."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    return float(np.maximum(p, q).sum())
