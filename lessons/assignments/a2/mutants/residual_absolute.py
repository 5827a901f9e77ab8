"""p - q"""

FAILS = "a2.q2.residual"
MISTAKE = "You take"


def residual(p, q):
    positive = np.abs(p - q)
    return positive / positive.sum() if positive.sum() > 0.0 else p
