"""In a step that was cut you count positions that were never emitted."""

FAILS = "a4.q6.positions"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    size = len(figures["num_accepted_tokens_per_pos"])
    return figures | {"num_accepted_tokens_per_pos": [sum(s["accepted"] > i for s in steps) for i in range(size)]}
