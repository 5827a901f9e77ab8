"""Takes q - p."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_swapped"


def residual(p, q):
    r = np.clip(q - p, 0, None)
    total = r.sum()
    if total == 0:
        return p
    return r / total
