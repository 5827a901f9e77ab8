"""You count one draft forward per step; there are gamma."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / ((c if gamma else 0.0) + verify_cost[gamma])
