"""The largest of equals."""

FAILS = "a3.q4.best"
MISTAKE = "best_gamma_last_of_ties"


def best_gamma(alpha, c, verify_cost):
    best, value = 0, 0
    for g in range(len(verify_cost)):
        s = speedup(alpha, g, c, verify_cost)
        if s >= value:
            best, value = g, s
    return best
