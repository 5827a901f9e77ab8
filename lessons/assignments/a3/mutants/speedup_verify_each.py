"""You pay one target forward per draft; all drafts are verified in one."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + gamma + 1.0)
