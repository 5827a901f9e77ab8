"""Counts accepted drafts, without the token of the target's own."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_without_the_bonus"


def best_gamma(alphas, seconds, draft_s, largest):
    best = (0.0, 0)
    for g in range(largest + 1):
        n = len(alphas) * (g + 1)
        if n > len(seconds):
            break
        tokens = 0.0
        for a in alphas:
            for k in range(1, g + 1):
                tokens += a**k
        speed = tokens / (seconds[n - 1] + g * draft_s)
        if speed > best[0]:
            best = (speed, g)
    return best[1]
