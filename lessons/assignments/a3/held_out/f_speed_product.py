"""Verify cost times tau's denominators: multiplied by gamma + 1."""

FAILS = "a3.q4.speedup"
MISTAKE = "speedup_verify_each"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + verify_cost[gamma] * (gamma + 1))
