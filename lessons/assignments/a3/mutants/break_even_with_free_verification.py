"""You leave verify_cost out: the cost of a step is gamma c + v(gamma + 1)."""

FAILS = "a3.q4.break_even"

right_break_even = break_even_alpha


def break_even_alpha(gamma, c, verify_cost):
    return right_break_even(gamma, c, [1.0] * len(verify_cost))
