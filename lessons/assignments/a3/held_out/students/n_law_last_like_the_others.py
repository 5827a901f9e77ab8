"""Multiplies the last entry by 1 - alpha too."""

FAILS = "a3.q2.law"
MISTAKE = "law_without_the_cap"


def tokens_law(alpha, gamma):
    return (1 - alpha) * alpha ** np.arange(gamma + 1.0)
