"""Leaves the draft's time out."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_drafts_are_free"


def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1]))
    return rates.index(max(rates))
