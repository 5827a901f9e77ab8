"""Makes a distribution of the residual by softmax."""

MISTAKE = "residual_softmax"


def residual(p, q):
    r = np.clip(p - q, 0, 1)
    if r.max() == 0:
        return p
    e = np.exp(r - r.max())
    return e / e.sum()
