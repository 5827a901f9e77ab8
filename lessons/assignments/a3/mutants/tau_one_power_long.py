"""Your sum has one power too many: gamma drafts and one more token make gamma + 1 at most."""

FAILS = "a3.q2.tau"


def tau(alpha, gamma):
    return float(sum(alpha**k for k in range(gamma + 2)))
