"""Your alpha is accepted / drafted; it is accepted / evaluated."""

FAILS = "a4.q6.ratios"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"alpha": figures["draft_acceptance_rate"]}
