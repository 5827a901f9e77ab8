"""The tokens of the mean acceptance are not the mean of the tokens."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0.0
    for gamma in range(largest + 1):
        num_rows = len(alphas) * (gamma + 1)
        if num_rows > len(seconds):
            break
        tokens = sum((sum(alphas) / len(alphas)) ** k for k in range(gamma + 1)) * len(alphas)
        found = tokens / (seconds[num_rows - 1] + gamma * draft_s)
        if found > rate:
            best, rate = gamma, found
    return best
