"""At alpha = 1 you divide by zero; then every step yields gamma + 1 tokens."""

FAILS = "a3.q2.tau"


def tau(alpha, gamma):
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)
