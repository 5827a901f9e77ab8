"""Geometric, normalised."""

FAILS = "a3.q2.law"
MISTAKE = "law_normalised"


def tokens_law(alpha, gamma):
    w = np.array([alpha**k for k in range(gamma + 1)], float)
    return w / w.sum()
