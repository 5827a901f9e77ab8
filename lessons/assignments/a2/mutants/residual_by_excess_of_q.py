"""You take p wherever p > q; the residual there is p - q."""

FAILS = "a2.q2.residual"


def residual(p, q):
    positive = np.where(p > q, p, 0.0)
    return positive / positive.sum() if positive.sum() > 0.0 else p
