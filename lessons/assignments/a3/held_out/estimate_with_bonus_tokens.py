"""Counts emitted tokens."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_counts_the_bonus"


def estimate(drafted, accepted):
    emitted = sum(a + 1 for a in accepted)
    judged = sum(min(d, a + 1) for d, a in zip(drafted, accepted))
    return emitted / sum(drafted) if sum(drafted) else None, emitted / judged if judged else None
