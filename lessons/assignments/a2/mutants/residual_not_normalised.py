"""Your residual does not sum to 1: divide by its sum."""

FAILS = "a2.q2.residual"


def residual(p, q):
    return np.maximum(p - q, 0.0) if (p > q).any() else p
