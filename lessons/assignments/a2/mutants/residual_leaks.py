"""You add a small constant before normalising: tokens the target never emits become possible."""

FAILS = "a2.q2.residual"


def residual(p, q):
    if np.array_equal(p, q):
        return p
    positive = np.maximum(p - q, 0.0) + 1e-6
    return positive / positive.sum()
