"""Uses the distance of the two."""

MISTAKE = "residual_absolute"


def residual(p, q):
    d = np.where(p > q, p - q, q - p)
    total = float(np.sum(d))
    return p if total == 0 else d / total
