"""Shifted, with an entry for zero tokens."""

FAILS = "a3.q2.law"
MISTAKE = "law_shifted"


def tokens_law(alpha, gamma):
    law = [0.0] + [(1 - alpha) * alpha**k for k in range(gamma)] + [alpha**gamma]
    return np.array(law)
