"""Counts one rejected draft in every step, also in those without one."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_always_one_rejection"


def estimate(drafted, accepted):
    A, D = sum(accepted), sum(drafted)
    judged = A + len(accepted)
    return (A / D if D else None), (A / judged if judged else None)
