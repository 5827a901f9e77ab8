"""You pay gamma + 1 draft forwards; gamma drafts take gamma."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / ((gamma + 1) * c + verify_cost[gamma])
