"""A step without drafts is a target forward too."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_steps": sum(step["drafted"] > 0 for step in steps)}
