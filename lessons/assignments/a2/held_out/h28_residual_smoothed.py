"""Adds a small number everywhere, so that tokens the target never says can appear."""

MISTAKE = "residual_leaks"


def residual(p, q):
    r = np.maximum(p - q, 0) + 1e-3
    return r / r.sum()
