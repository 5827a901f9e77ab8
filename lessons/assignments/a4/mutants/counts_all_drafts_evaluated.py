"""You count all drafts as evaluated; those behind the first rejection were never judged."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_evaluated_tokens": sum(step["drafted"] for step in steps)}
