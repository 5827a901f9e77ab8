"""Counts accepted drafts."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_without_the_bonus"


def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(1, gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    return rates.index(max(rates))
