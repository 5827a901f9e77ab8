"""Binomial."""

FAILS = "a3.q2.law"
MISTAKE = "law_binomial"


def tokens_law(alpha, gamma):
    from math import comb

    return np.array([comb(gamma, k) * alpha**k * (1 - alpha) ** (gamma - k) for k in range(gamma + 1)])
