"""Looks one entry too far in the table of times."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_time_per_row"


def best_gamma(alphas, seconds, draft_s, largest):
    best, top = 0, -1.0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m >= len(seconds):
            break
        speed = sum(sum(a**k for k in range(g + 1)) for a in alphas) / (seconds[m] + g * draft_s)
        if speed > top:
            best, top = g, speed
    return best
