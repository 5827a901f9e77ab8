"""The last of the best."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_largest_of_equals"


def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    return len(rates) - 1 - rates[::-1].index(max(rates))
