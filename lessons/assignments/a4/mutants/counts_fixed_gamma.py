"""You take the longest draft's length for all steps; count what was drafted."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    longest = max((step["drafted"] for step in steps), default=0)
    return right_metrics(steps) | {"num_draft_tokens": longest * len(steps)}
