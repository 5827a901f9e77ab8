"""The smallest cost."""

FAILS = "a3.q4.speedup"
MISTAKE = ""


def best_gamma(alpha, c, verify_cost):
    return int(np.argmin([g * c + verify_cost[g] for g in range(len(verify_cost))]))
