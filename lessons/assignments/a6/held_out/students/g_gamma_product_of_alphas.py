"""Multiplies the alphas of all requests."""

FAILS = "a6.q6.gamma"
MISTAKE = "gamma_product_of_the_alphas"


def best_gamma(alphas, seconds, draft_s, largest):
    joint = 1.0
    for a in alphas:
        joint *= a
    scores = []
    for g in range(largest + 1):
        n = len(alphas) * (g + 1)
        if n > len(seconds):
            break
        scores.append(sum(joint**k for k in range(g + 1)) / (seconds[n - 1] + g * draft_s))
    return scores.index(max(scores)) if scores else 0
