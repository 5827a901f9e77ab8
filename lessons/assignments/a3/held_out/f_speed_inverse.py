"""Cost per token."""

FAILS = "a3.q4.speedup"
MISTAKE = "speedup_inverted"


def speedup(alpha, gamma, c, verify_cost):
    return (gamma * c + verify_cost[gamma]) / tau(alpha, gamma)
