"""gamma + 1 rows for each request: the newest token is one of them."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0.0
    for gamma in range(largest + 1):
        num_rows = max(1, len(alphas) * gamma)
        if num_rows > len(seconds):
            break
        tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
        found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
        if found > rate:
            best, rate = gamma, found
    return best
