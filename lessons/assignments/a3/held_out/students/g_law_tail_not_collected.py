"""Gives the last entry the factor 1 - alpha, too."""

FAILS = "a3.q2.law"
MISTAKE = "law_without_the_cap"


def tokens_law(alpha, gamma):
    k = np.arange(gamma + 1)
    return (1 - alpha) * np.power(float(alpha), k)
