"""You multiply the alphas of all requests; each request's drafts are accepted on their own: sum the requests' tokens."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    joint, best, rate = 1.0, 0, 0.0
    for alpha in alphas:
        joint *= alpha
    for gamma in range(largest + 1):
        num_rows = len(alphas) * (gamma + 1)
        if num_rows > len(seconds):
            break
        found = sum(joint**k for k in range(gamma + 1)) / (seconds[num_rows - 1] + gamma * draft_s)
        if found > rate:
            best, rate = gamma, found
    return best
