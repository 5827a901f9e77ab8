"""Clips the difference to [0, 1] and leaves it at that."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_not_normalised"


def residual(p, q):
    diff = np.clip(p - q, 0, 1)
    if diff.sum() == 0:
        return p
    return diff
