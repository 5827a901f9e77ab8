"""Computes gamma alpha^gamma + 1."""

FAILS = "a3.q2.tau"
MISTAKE = "tau_last_power_only"


def tau(alpha, gamma):
    return 1 + gamma * alpha**gamma
