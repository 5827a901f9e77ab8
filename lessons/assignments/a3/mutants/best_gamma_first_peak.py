"""You stop as soon as one more draft does not help against plain decoding; compare all of them."""

FAILS = "a3.q4.best"


def best_gamma(alpha, c, verify_cost):
    best = 0
    for gamma in range(1, len(verify_cost)):
        if speedup(alpha, gamma, c, verify_cost) > 1.0:
            best = gamma
    return best
