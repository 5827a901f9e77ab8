"""Divides by zero where p = q."""

FAILS = "a2.q2.equal"
MISTAKE = "residual_equal_is_nan"


def residual(p, q):
    d = np.maximum(p - q, 0)
    return d / d.sum()
