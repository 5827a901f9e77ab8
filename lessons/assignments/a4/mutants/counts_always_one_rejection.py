"""You count one rejection per step; where all drafts were accepted there was none."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_evaluated_tokens": sum(min(s["accepted"] + 1, s["emitted"]) for s in steps)}
