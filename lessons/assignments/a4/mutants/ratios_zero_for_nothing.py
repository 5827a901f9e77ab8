"""Where there is nothing to divide by you say 0; say None."""

FAILS = "a4.q6.ratios"

right_metrics = metrics


def metrics(steps):
    return {name: 0.0 if value is None else value for name, value in right_metrics(steps).items()}
