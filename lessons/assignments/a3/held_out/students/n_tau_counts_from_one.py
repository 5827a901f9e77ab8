"""Sums the powers from 1 on: the one token more is missing."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_without_bonus"


def tau(alpha, gamma):
    total, power = 0.0, 1.0
    for _ in range(gamma):
        power *= alpha
        total += power
    return total
