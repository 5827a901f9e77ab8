"""Your law is the wrong way round: entry 0 is one token."""

FAILS = "a3.q2.law"

right_law = tokens_law


def tokens_law(alpha, gamma):
    return np.asarray(right_law(alpha, gamma))[::-1].copy()
