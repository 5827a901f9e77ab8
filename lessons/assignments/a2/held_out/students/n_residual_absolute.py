"""Takes the absolute difference for the positive part."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_absolute"


def residual(p, q):
    r = np.abs(p - q)
    return r / r.sum() if r.sum() > 0 else p
