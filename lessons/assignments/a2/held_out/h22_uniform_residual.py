"""Spreads evenly where nothing is left."""

MISTAKE = "residual_equal_is_uniform"


def residual(p, q):
    r = np.maximum(0, p - q)
    if not r.any():
        r = np.ones(len(p))
    return r / r.sum()
