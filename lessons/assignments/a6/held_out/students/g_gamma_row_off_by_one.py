"""Reads the time of one row more."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_time_per_row"


def best_gamma(alphas, seconds, draft_s, largest):
    best, top = 0, -1.0
    n = len(alphas)
    for g in range(0, largest + 1):
        m = n * (g + 1)
        if m >= len(seconds):
            break
        gain = sum((1 - a ** (g + 1)) / (1 - a) if a != 1 else g + 1 for a in alphas)
        value = gain / (seconds[m] + draft_s * g)
        if value > top:
            best, top = g, value
    return best
