"""Looks for the longest expected step."""

FAILS = "a3.q4.best"
MISTAKE = "best_gamma_most_tokens"


def best_gamma(alpha, c, verify_cost):
    best = 0
    for g in range(len(verify_cost)):
        if tau(alpha, g) > tau(alpha, best):
            best = g
    return best
