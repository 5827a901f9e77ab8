"""Stops when the rate falls."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_stops_at_the_first_loss"


def best_gamma(alphas, seconds, draft_s, largest):
    rates = []
    for gamma in range(largest + 1):
        count = len(alphas) * (gamma + 1)
        if count <= len(seconds):
            tokens = sum(sum(alpha**k for k in range(gamma + 1)) for alpha in alphas)
            rates.append(tokens / (seconds[count - 1] + gamma * draft_s))
    gamma = 0
    while gamma + 1 < len(rates) and rates[gamma + 1] > rates[gamma]:
        gamma += 1
    return gamma
