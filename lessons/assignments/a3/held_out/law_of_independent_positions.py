"""Counts accepted drafts in any places."""

FAILS = "a3.q2.law"
MISTAKE = "law_binomial"


def tokens_law(alpha, gamma):
    law = np.array([1.0])
    for _ in range(gamma):
        law = np.convolve(law, [1 - alpha, alpha])
    return law
