"""You say alpha = c: that is where *some* gamma pays when verification is free, not this one."""

FAILS = "a3.q4.break_even"


def break_even_alpha(gamma, c, verify_cost):
    return float(c) if c < 1.0 else None
