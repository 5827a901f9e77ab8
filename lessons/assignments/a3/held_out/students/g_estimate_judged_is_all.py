"""Counts one judged draft more for each step that has drafts, also when all were accepted."""

FAILS = "a3.q3.estimate"
MISTAKE = "estimate_always_one_rejection_of_drafts"
ALSO = ("estimate_always_one_rejection",)


def estimate(drafted, accepted):
    total, good, judged = 0, 0, 0
    for d, a in zip(drafted, accepted):
        total += d
        good += a
        if d:
            judged += a + 1
    return (good / total if total else None, good / judged if judged else None)
