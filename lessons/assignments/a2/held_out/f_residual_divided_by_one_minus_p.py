"""Divided by the sum of p."""

FAILS = "a2.q2.residual"
MISTAKE = ""


def residual(p, q):
    d = np.maximum(p - q, 0)
    return d / p[d > 0].sum() if d.any() else p
