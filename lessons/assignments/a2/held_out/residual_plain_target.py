"""The target again."""

FAILS = "a2.q2.residual"
MISTAKE = "residual_is_p"


def residual(p, q):
    return np.array(p) / np.sum(p)
