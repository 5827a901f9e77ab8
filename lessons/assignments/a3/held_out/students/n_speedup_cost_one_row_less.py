"""Takes v(gamma) for v(gamma + 1)."""

FAILS = "a3.q4.speedup"
MISTAKE = "speedup_verify_gamma_rows"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (c * gamma + verify_cost[max(gamma - 1, 0)])
