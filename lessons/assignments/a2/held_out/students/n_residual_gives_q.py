"""Returns a uniform distribution where nothing is left."""

FAILS = "a2.q2.equal"
MISTAKE = "residual_equal_is_uniform"


def residual(p, q):
    r = np.where(p > q, p - q, 0)
    if not r.any():
        return np.ones(len(p)) / len(p)
    return r / r.sum()
