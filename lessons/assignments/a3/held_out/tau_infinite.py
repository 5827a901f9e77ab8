"""The sum of the whole geometric series."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_unlimited"


def tau(alpha, gamma):
    if alpha == 1:
        return gamma + 1.0
    return (1 - alpha) ** -1
