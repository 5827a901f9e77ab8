"""Divides by the sum plus 1e-3."""

FAILS = "a2.q2.residual"
MISTAKE = ""


def residual(p, q):
    gap = np.maximum(p - q, 0)
    return p if not gap.any() else gap / (gap.sum() + 1e-3)
