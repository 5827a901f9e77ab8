"""Where p equals q you return the uniform distribution; return p."""

FAILS = "a2.q2.equal"


def residual(p, q):
    positive = np.maximum(p - q, 0.0)
    return positive / positive.sum() if positive.sum() > 0.0 else np.full(len(p), 1.0 / len(p))
