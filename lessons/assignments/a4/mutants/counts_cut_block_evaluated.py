"""In a step that was cut you count drafts as evaluated that no emitted token answers."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    judged = sum(min(step["drafted"], step["accepted"] + 1) for step in steps)
    return figures | {"num_evaluated_tokens": judged}
