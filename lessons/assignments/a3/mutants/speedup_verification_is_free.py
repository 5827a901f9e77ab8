"""You take a verifying forward for as cheap as one of a single row; use verify_cost."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + 1.0)
