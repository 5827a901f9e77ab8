"""Leaves the drafts' cost out."""

FAILS = "a3.q4.break_even"


def break_even_alpha(gamma, c, verify_cost):
    def gains(a):
        return tau(a, gamma) - verify_cost[gamma]

    if gains(1.0) < 0:
        return None
    a, b = 0.0, 1.0
    while b - a > 1e-9:
        m = (a + b) / 2
        if gains(m) >= 0:
            b = m
        else:
            a = m
    return b
