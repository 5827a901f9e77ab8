"""A rule of thumb."""

FAILS = "a6.q6.gamma"
MISTAKE = ""


def best_gamma(alphas, seconds, draft_s, largest):
    return 4 if len(alphas) < 4 else 2 if len(alphas) < 16 else 0
