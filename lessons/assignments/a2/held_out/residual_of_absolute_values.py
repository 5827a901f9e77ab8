"""np.abs."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_absolute"


def residual(p, q):
    gap = abs(p - q)
    total = sum(gap)
    return p if total == 0 else np.array([g / total for g in gap])
