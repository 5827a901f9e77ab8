"""Sums without products."""

FAILS = "a3.q7.position"
MISTAKE = "position_sum"


def tau_by_position(acceptances):
    return 1.0 + sum(acceptances)
