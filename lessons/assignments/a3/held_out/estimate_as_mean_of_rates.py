"""The mean over steps of both ratios."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_mean_of_steps"


def estimate(drafted, accepted):
    rates, alphas = [], []
    for d, a in zip(drafted, accepted):
        if d:
            rates.append(a / d)
            alphas.append(a / min(d, a + 1))
    return (float(np.mean(rates)), float(np.mean(alphas))) if rates else (None, None)
