"""Accepted drafts over the cost of a step."""

FAILS = "a3.q4.speedup"
MISTAKE = ""


def speedup(alpha, gamma, c, verify_cost):
    return (tau(alpha, gamma) - 1) / (gamma * c + verify_cost[gamma])
