"""You stop where the next gamma is no better; verification may have steps, behind which it pays again. Compare all
of them.
"""

FAILS = "a3.q4.best"


def best_gamma(alpha, c, verify_cost):
    gamma = 0
    while gamma + 1 < len(verify_cost):
        if speedup(alpha, gamma + 1, c, verify_cost) <= speedup(alpha, gamma, c, verify_cost):
            break
        gamma += 1
    return gamma
