"""Returns the distance of p and q, which is what is rejected."""

FAILS = "a3.q1.overlap"
MISTAKE = "overlap_distance"


def acceptance_probability(p, q):
    return float(0.5 * np.abs(np.asarray(p) - np.asarray(q)).sum())
