"""You divide by the steps that drafted; a step without drafts is a target forward too."""

FAILS = "a4.q6.ratios"

right_metrics = metrics


def metrics(steps):
    figures, drafting = right_metrics(steps), sum(step["drafted"] > 0 for step in steps)
    return figures | {"mean_acceptance_length": figures["num_tokens"] / drafting if drafting else None}
