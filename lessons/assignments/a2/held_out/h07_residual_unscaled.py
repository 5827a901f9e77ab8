"""Forgets to divide by the sum."""

MISTAKE = "residual_not_normalised"


def residual(p, q):
    out = p.copy()
    out -= q
    out = np.clip(out, 0, None)
    return out if out.sum() > 0 else p
