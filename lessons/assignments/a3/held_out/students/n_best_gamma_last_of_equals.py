"""Keeps the last of equally good ones."""

FAILS = "a3.q4.best"
MISTAKE = "best_gamma_last_of_ties"


def best_gamma(alpha, c, verify_cost):
    best, most = 0, 0.0
    for g in range(len(verify_cost)):
        s = speedup(alpha, g, c, verify_cost)
        if s >= most:
            best, most = g, s
    return best
