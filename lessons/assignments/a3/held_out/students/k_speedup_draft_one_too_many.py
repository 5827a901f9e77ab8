"""Pays a draft forward for the target's token."""

FAILS = "a3.q4.speedup"
MISTAKE = "speedup_draft_of_gamma_plus_one"


def speedup(alpha, gamma, c, verify_cost):
    rows = gamma + 1
    return tau(alpha, gamma) / (rows * c + verify_cost[rows - 1])
