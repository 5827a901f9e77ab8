"""Q - p."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_swapped"


def residual(p, q):
    d = np.clip(q - p, 0, None)
    return d / d.sum() if d.sum() > 0 else p
