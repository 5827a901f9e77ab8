""">= where > is meant."""

FAILS = "a3.q4.best"
MISTAKE = "best_gamma_last_of_ties"


def best_gamma(alpha, c, verify_cost):
    best, fastest = 0, 0.0
    for g in range(len(verify_cost)):
        s = speedup(alpha, g, c, verify_cost)
        if s >= fastest:
            best, fastest = g, s
    return best
