"""You take the last token of every step for the target's own; in a step that was cut it may be a draft."""

FAILS = "a4.q6.counts"


right_metrics = metrics


def metrics(steps):
    return right_metrics([step | {"accepted": step["emitted"] - 1} for step in steps])
