"""Finds the best number for each text alone and takes their median."""

FAILS = "a6.q6.gamma"


def best_gamma(alphas, seconds, draft_s, largest):
    def alone(a):
        options = range(min(largest, len(seconds) - 1) + 1)
        return max(options, key=lambda g: sum(a**k for k in range(g + 1)) / (seconds[g] + g * draft_s))

    wishes = sorted(alone(a) for a in alphas)
    return wishes[len(wishes) // 2]
