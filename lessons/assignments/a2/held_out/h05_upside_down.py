"""Divides draft by target."""

MISTAKE = "accept_inverted"


def accept(p, q, token, u):
    with np.errstate(divide="ignore"):
        ratio = np.divide(q[token], p[token])
    return bool(u < min(ratio, 1))
