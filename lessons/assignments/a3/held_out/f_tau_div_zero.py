"""Closed form, divides by zero at alpha 1."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_divides_by_zero"


def tau(alpha, gamma):
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)
