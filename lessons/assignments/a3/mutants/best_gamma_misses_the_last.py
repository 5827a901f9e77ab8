"""You never try the largest gamma, len(verify_cost) - 1."""

FAILS = "a3.q4.best"


def best_gamma(alpha, c, verify_cost):
    return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(max(1, len(verify_cost) - 1))]))
