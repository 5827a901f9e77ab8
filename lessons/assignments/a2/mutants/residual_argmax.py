"""You put everything on the token with the largest p - q; the residual is a distribution to draw from."""

FAILS = "a2.q2.residual"


def residual(p, q):
    return np.eye(len(p))[np.argmax(p - q)] if (p > q).any() else p
