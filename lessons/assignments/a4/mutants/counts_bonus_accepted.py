"""You count the bonus or the replacement as accepted; it was never drafted."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_accepted_tokens": sum(step["emitted"] for step in steps)}
