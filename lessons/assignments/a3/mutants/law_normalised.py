"""You scale a geometric law so that it sums to 1; what is beyond gamma + 1 tokens belongs to the last entry alone."""

FAILS = "a3.q2.law"


def tokens_law(alpha, gamma):
    law = np.array([alpha**i for i in range(gamma + 1)], float)
    return law / law.sum()
