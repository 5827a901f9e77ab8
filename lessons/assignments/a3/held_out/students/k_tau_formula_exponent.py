"""Has gamma where gamma + 1 belongs in the closed form."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_one_power_short"


def tau(alpha, gamma):
    if alpha == 1:
        return gamma + 1.0
    return (1 - alpha**gamma) / (1 - alpha)
