"""Where even alpha = 1 is not enough you return a number; return None."""

FAILS = "a3.q4.break_even"

right_break_even = break_even_alpha


def break_even_alpha(gamma, c, verify_cost):
    alpha = right_break_even(gamma, c, verify_cost)
    return 1.0 if alpha is None else alpha
