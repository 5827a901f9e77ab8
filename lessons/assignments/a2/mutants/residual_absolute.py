"""You take |p - q|; where q is larger there is nothing left to draw: max(p - q, 0)."""

FAILS = "a2.q2.residual"


def residual(p, q):
    positive = np.abs(p - q)
    return positive / positive.sum() if positive.sum() > 0.0 else p
