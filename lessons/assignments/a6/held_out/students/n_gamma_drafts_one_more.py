"""Charges a draft forward more than it makes."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    best, top = 0, -1.0
    for g in range(largest + 1):
        m = len(alphas) * (g + 1)
        if m > len(seconds):
            break
        time = seconds[m - 1] + (g + 1) * draft_s
        speed = sum(sum(a**k for k in range(g + 1)) for a in alphas) / time
        if speed > top:
            best, top = g, speed
    return best
