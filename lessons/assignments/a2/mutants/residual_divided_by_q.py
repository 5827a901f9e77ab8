"""You subtract q from p after dividing by it (p/q - 1); the residual is the difference itself."""

FAILS = "a2.q2.residual"


def residual(p, q):
    with np.errstate(all="ignore"):
        positive = np.maximum(np.where(q > 0.0, p / q, 1e6) - 1.0, 0.0)
    return positive / positive.sum() if positive.sum() > 0.0 else p
