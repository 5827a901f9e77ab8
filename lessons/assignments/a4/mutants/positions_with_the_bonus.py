"""You have an entry more than drafts: the bonus has no position in the draft."""

FAILS = "a4.q6.positions"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    size = max((s["drafted"] for s in steps), default=0) + 1
    return figures | {"num_accepted_tokens_per_pos": [sum(s["emitted"] > i for s in steps) for i in range(size)]}
