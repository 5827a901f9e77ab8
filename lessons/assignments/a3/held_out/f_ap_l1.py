"""1 - L1."""

FAILS = "a3.q1.overlap"
MISTAKE = "overlap_full_l1"


def acceptance_probability(p, q):
    return float(1 - np.abs(p - q).sum())
