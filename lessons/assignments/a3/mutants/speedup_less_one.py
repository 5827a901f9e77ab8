"""You return what is gained, speedup - 1; how many times faster is wanted."""

FAILS = "a3.q4.speedup"


def speedup(alpha, gamma, c, verify_cost):
    return tau(alpha, gamma) / (gamma * c + verify_cost[gamma]) - 1.0


def best_gamma(alpha, c, verify_cost):
    return int(np.argmax([speedup(alpha, gamma, c, verify_cost) for gamma in range(len(verify_cost))]))
