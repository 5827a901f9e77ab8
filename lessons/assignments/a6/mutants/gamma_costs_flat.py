"""Forwards over more rows take longer."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0.0
    for gamma in range(largest + 1):
        num_rows = len(alphas) * (gamma + 1)
        if num_rows > len(seconds):
            break
        tokens = sum(alpha**k for alpha in alphas for k in range(gamma + 1))
        found = tokens / (seconds[len(alphas) - 1] + gamma * draft_s)
        if found > rate:
            best, rate = gamma, found
    return best
