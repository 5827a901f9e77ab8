"""You maximise tokens per step; longer drafts always win that. Maximise the speedup."""

FAILS = "a3.q4.best"


def best_gamma(alpha, c, verify_cost):
    return int(np.argmax([tau(alpha, gamma) for gamma in range(len(verify_cost))]))
