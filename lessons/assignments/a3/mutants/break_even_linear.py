"""You solve 1 + alpha gamma = cost; tau is not linear in alpha."""

FAILS = "a3.q4.break_even"


def break_even_alpha(gamma, c, verify_cost):
    alpha = (gamma * c + verify_cost[gamma] - 1.0) / gamma
    return alpha if alpha <= 1.0 else None
