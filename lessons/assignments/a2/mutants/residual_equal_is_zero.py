"""Where p equals q your residual is all zeros, and nothing can be drawn from it; return p."""

FAILS = "a2.q2.equal"


def residual(p, q):
    positive = np.maximum(p - q, 0.0)
    return positive / max(positive.sum(), 1e-12)
