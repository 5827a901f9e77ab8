"""Your drafts cost nothing: add gamma c to the cost of a step."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / verify_cost[gamma]
