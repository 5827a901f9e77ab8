"""Of several gammas that are equally fast you take the largest; take the smallest."""

FAILS = "a3.q4.best"


def best_gamma(alpha, c, verify_cost):
    speedups = [speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]
    return len(speedups) - 1 - int(np.argmax(speedups[::-1]))
