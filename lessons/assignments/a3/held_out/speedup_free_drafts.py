"""c is not used."""

FAILS = "a3.q4.speedup"
MISTAKE = "speedup_without_drafts_cost"


def speedup(alpha, gamma, c, verify_cost):
    return sum(alpha**i for i in range(gamma + 1)) / verify_cost[gamma]
