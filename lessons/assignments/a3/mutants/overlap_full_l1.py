"""You subtract the whole L1 distance; the total variation is half of it."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    return float(1.0 - np.abs(p - q).sum())
