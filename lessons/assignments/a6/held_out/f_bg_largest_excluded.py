"""The largest is left out."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_largest_left_out"


def best_gamma(alphas, seconds, draft_s, largest):
    best, rate = 0, 0
    for g in range(max(1, largest)):
        m = len(alphas) * (g + 1)
        if m > len(seconds):
            break
        s = sum(a**k for a in alphas for k in range(g + 1)) / (seconds[m - 1] + g * draft_s)
        if s > rate:
            best, rate = g, s
    return best
