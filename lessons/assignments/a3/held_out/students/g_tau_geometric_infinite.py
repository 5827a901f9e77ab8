"""Takes the mean of a geometric law without its end."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_unlimited"


def tau(alpha, gamma):
    if alpha == 1:
        return float(gamma + 1)
    return 1 / (1 - alpha)
