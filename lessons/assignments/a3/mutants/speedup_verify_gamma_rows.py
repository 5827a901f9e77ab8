"""You verify gamma rows; the pending token is fed too: gamma + 1 rows, verify_cost[gamma]."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + verify_cost[max(0, gamma - 1)])
