"""Returns time per token."""

FAILS = "a3.q4.speedup"
MISTAKE = "speedup_inverted"


def speedup(alpha, gamma, c, verify_cost):
    step = gamma * c + verify_cost[gamma]
    return step / tau(alpha, gamma)
