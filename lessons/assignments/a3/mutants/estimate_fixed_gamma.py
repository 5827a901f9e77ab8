"""You take the first step's number of drafts for all; steps draft differently."""

FAILS = "a3.q3.estimate"


def estimate(drafted, accepted):
    num_drafted = len(drafted) * drafted[0] if drafted else 0
    judged = sum(a + (a < drafted[0]) for a in accepted)
    return (sum(accepted) / num_drafted if num_drafted else None, sum(accepted) / judged if judged else None)
