"""The gamma with the largest tau."""

FAILS = "a3.q4.best"
MISTAKE = "best_gamma_most_tokens"


def best_gamma(alpha, c, verify_cost):
    gammas = list(range(len(verify_cost)))
    return max(gammas, key=lambda g: tau(alpha, g))
