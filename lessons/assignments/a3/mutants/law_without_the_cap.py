"""Your law is geometric to the end; all that would go beyond gamma + 1 tokens belongs to the last entry, alpha**gamma."""

FAILS = "a3.q2.law"


def tokens_law(alpha, gamma):
    return np.array([alpha**i * (1.0 - alpha) for i in range(gamma + 1)])
