"""Solves for gamma alpha."""

FAILS = "a3.q4.break_even"
MISTAKE = "break_even_linear"


def break_even_alpha(gamma, c, verify_cost):
    needed = c + (verify_cost[gamma] - 1) / gamma
    return None if needed > 1 else needed
