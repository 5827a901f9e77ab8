"""Has an entry for no tokens in front."""

FAILS = "a3.q2.law"


def tokens_law(alpha, gamma):
    law = np.zeros(gamma + 2)
    for i in range(gamma):
        law[i + 1] = alpha**i * (1 - alpha)
    law[gamma + 1] = alpha**gamma
    return law
