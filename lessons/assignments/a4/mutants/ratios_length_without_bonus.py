"""Your mean acceptance length is accepted drafts per step; it is tokens per step, bonus and replacement included."""

FAILS = "a4.q6.ratios"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"mean_acceptance_length": figures["num_accepted_tokens"] / len(steps) if steps else None}
