"""1 / (1 - alpha)."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_unlimited"


def tau(alpha, gamma):
    return gamma + 1.0 if alpha == 1 else 1.0 / (1.0 - alpha)
