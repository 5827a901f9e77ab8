"""Your entry i is the probability of i accepted drafts with at least one; entry 0 is one token, no draft accepted."""

FAILS = "a3.q2.law"


def tokens_law(alpha, gamma):
    law = np.array([alpha ** (i + 1) * (1.0 - alpha) for i in range(gamma + 1)])
    law[gamma] = 1.0 - law[:gamma].sum()
    return law
