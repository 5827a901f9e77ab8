"""A draft counts only if all before it were accepted: alpha^k, not k alpha."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0.0
    for gamma in range(largest + 1):
        num_rows = len(alphas) * (gamma + 1)
        if num_rows > len(seconds):
            break
        tokens = sum(1 + gamma * alpha for alpha in alphas)
        found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
        if found > rate:
            best, rate = gamma, found
    return best
