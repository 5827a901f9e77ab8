"""Says that each draft adds alpha."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_linear"


def tau(alpha, gamma):
    tokens = 1.0
    for _ in range(gamma):
        tokens += alpha
    return tokens
