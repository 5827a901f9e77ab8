"""Your acceptance rate is accepted / evaluated; it is accepted / drafted."""

FAILS = "a4.q6.ratios"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    return figures | {"draft_acceptance_rate": figures["alpha"]}
