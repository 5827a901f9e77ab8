"""Solves 1 + alpha gamma = cost."""

FAILS = "a3.q4.break_even"
MISTAKE = "break_even_linear"


def break_even_alpha(gamma, c, verify_cost):
    alpha = (gamma * c + verify_cost[gamma] - 1) / gamma
    if alpha > 1:
        return None
    return max(0.0, alpha)
