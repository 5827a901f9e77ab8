"""A grid of hundredths."""

FAILS = "a3.q4.break_even"
MISTAKE = "break_even_coarse"


def break_even_alpha(gamma, c, verify_cost):
    for i in range(101):
        if speedup(i / 100, gamma, c, verify_cost) >= 1:
            return i / 100
    return None
