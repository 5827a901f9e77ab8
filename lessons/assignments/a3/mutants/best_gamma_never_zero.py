"""You start from gamma = 1; where drafts do not pay, 0 is best."""

FAILS = "a3.q4.best"


def best_gamma(alpha, c, verify_cost):
    return 1 + int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(1, len(verify_cost))]))
