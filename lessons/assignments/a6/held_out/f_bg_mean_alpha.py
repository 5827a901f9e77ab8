"""The mean alpha."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_of_the_mean"


def best_gamma(alphas, seconds, draft_s, largest):
    a = sum(alphas) / len(alphas)
    best, rate = 0, 0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m > len(seconds):
            break
        s = sum(a**k for k in range(g + 1)) / (seconds[m - 1] + g * draft_s)
        if s > rate:
            best, rate = g, s
    return best
