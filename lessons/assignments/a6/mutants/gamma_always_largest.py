"""Long drafts cost more than they bring; compare them."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    return largest
