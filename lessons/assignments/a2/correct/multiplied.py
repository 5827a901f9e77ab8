"""u q < p instead of a quotient; the residual through the overlap; a NumPy bool."""


def accept(p, q, token, u):
    return u * q[token] < p[token]


def residual(p, q):
    missing = p - np.minimum(p, q)
    return np.divide(missing, missing.sum()) if missing.any() else p.copy()
