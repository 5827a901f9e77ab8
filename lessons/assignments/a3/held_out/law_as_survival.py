"""P(N > i)."""

FAILS = "a3.q2.law"
MISTAKE = "law_of_survival"


def tokens_law(alpha, gamma):
    survival = [1.0]
    for _ in range(gamma):
        survival.append(survival[-1] * alpha)
    return survival
