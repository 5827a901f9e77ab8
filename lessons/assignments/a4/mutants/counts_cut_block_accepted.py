"""In a step that was cut you count all accepted drafts; those that were not emitted do not count."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"num_accepted_tokens": sum(step["accepted"] for step in steps)}
