"""Your entries are the probabilities of *at least* so many tokens; take differences."""

FAILS = "a3.q2.law"


def tokens_law(alpha, gamma):
    return np.array([float(alpha) ** i for i in range(gamma + 1)])
