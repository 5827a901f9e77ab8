"""Mean of ratios by step."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_mean_of_steps"


def estimate(drafted, accepted):
    d, a = sum(drafted), sum(accepted)
    rs = [x / y for x, y in zip(accepted, drafted) if y]
    j = sum(min(x + 1, y) for x, y in zip(accepted, drafted))
    return (sum(rs) / len(rs) if rs else None), (a / j if j else None)
