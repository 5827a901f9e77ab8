"""You take max(q - p, 0): p and q are swapped."""

FAILS = "a2.q2.residual"


def residual(p, q):
    positive = np.maximum(q - p, 0.0)
    return positive / positive.sum() if positive.sum() > 0.0 else p
