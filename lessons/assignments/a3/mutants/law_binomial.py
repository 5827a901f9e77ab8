"""You use the binomial distribution: it counts accepted drafts wherever they stand. A draft behind a rejection is
void.
"""

FAILS = "a3.q2.law"


def tokens_law(alpha, gamma):
    from math import comb

    return np.array([comb(gamma, i) * alpha**i * (1.0 - alpha) ** (gamma - i) for i in range(gamma + 1)])
