"""Has an entry for zero tokens."""

FAILS = "a3.q2.law"
MISTAKE = ""

right_law = tokens_law


def tokens_law(alpha, gamma):
    return np.concatenate([[0.0], right_law(alpha, gamma)])
