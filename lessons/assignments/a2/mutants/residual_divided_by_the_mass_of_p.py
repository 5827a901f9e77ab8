"""You divide by the target's probabilities of these tokens; divide by the sum of the differences."""

FAILS = "a2.q2.residual"


def residual(p, q):
    larger = p > q
    return np.where(larger, p - q, 0.0) / p[larger].sum() if larger.any() else p
