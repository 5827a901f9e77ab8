"""Compares with gamma instead of gamma + 1 at alpha = 1, so some that just pay are None."""

FAILS = "a3.q4.break_even"


def break_even_alpha(gamma, c, verify_cost):
    price = c * gamma + verify_cost[gamma]
    if price > gamma:
        return None
    a, b = 0.0, 1.0
    while b - a > 1e-9:
        m = (a + b) / 2
        if tau(m, gamma) < price:
            a = m
        else:
            b = m
    return b
