"""Of the mean alpha."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_of_the_mean"


def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = len(alphas) * sum((sum(alphas) / len(alphas)) ** k for k in range(gamma + 1))
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    return rates.index(max(rates))
