"""clip without division."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_not_normalised"


def residual(p, q):
    gap = np.clip(p - q, 0.0, 1.0)
    return gap if gap.sum() > 0 else p
