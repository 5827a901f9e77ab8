"""Nothing is known of more rows than the table has; they are not asked for."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0.0
    for gamma in range(largest + 1):
        num_rows = len(alphas) * (gamma + 1)
        tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
        found = tokens / (seconds[min(num_rows, len(seconds)) - 1] + gamma * draft_s)
        if found > rate:
            best, rate = gamma, found
    return best
