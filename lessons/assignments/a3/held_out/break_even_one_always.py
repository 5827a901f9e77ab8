"""Bisection that ends at 1 where nothing pays."""

FAILS = "a3.q4.break_even"
MISTAKE = "break_even_never_none"


def break_even_alpha(gamma, c, verify_cost):
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        mid = (low + high) / 2
        low, high = (low, mid) if speedup(mid, gamma, c, verify_cost) >= 1 else (mid, high)
    return high
