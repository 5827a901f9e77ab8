"""You return the best speedup; the gamma that reaches it is wanted."""

FAILS = "a3.q4.best"


def best_gamma(alpha, c, verify_cost):
    return max(speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost)))
