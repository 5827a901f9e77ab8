"""Not normalised."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_not_normalised"


def residual(p, q):
    return np.clip(p - q, 0, None)
