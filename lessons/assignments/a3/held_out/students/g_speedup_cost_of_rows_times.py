"""Charges the target's cost for each of the gamma + 1 rows."""

FAILS = "a3.q4.speedup"
MISTAKE = "speedup_verify_times_rows"
ALSO = ("speedup_verify_each",)


def speedup(alpha, gamma, c, verify_cost):
    cost = gamma * c + (gamma + 1) * verify_cost[gamma]
    return tau(alpha, gamma) / cost
