"""Subtracts the wrong way round."""

MISTAKE = "residual_swapped"


def residual(p, q):
    gap = q - p
    gap[gap < 0] = 0
    return gap / np.sum(gap) if np.any(gap) else p
