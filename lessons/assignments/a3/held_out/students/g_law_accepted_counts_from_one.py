"""Has alpha once too often in each entry but the last."""

FAILS = "a3.q2.law"
MISTAKE = "law_shifted"


def tokens_law(alpha, gamma):
    law = [(1 - alpha) * alpha ** (i + 1) for i in range(gamma)]
    return np.array(law + [1 - sum(law)])
