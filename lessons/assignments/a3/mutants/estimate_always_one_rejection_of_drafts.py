"""You count a rejection in every step with drafts; a step whose drafts were all accepted has none."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    judged = sum(a + 1 for d, a in zip(drafted, accepted) if d)
    return (sum(accepted) / sum(drafted) if sum(drafted) else None, sum(accepted) / judged if judged else None)
