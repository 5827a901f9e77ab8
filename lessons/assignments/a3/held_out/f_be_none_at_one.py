"""None where alpha is exactly 1."""

FAILS = "a3.q4.speedup"
MISTAKE = ""


def break_even_alpha(gamma, c, verify_cost):
    cost = gamma * c + verify_cost[gamma]
    if gamma + 1 <= cost:
        return None
    lo, hi = 0.0, 1.0
    for _ in range(60):
        m = (lo + hi) / 2
        if tau(m, gamma) < cost:
            lo = m
        else:
            hi = m
    return hi
