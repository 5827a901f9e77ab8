"""You take the longer of drafting and verifying; they follow each other, so add them."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / max(gamma * c, verify_cost[gamma])
