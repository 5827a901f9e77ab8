"""You return rates; counts are wanted."""

FAILS = "a4.q6.positions"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    per_position = figures["num_accepted_tokens_per_pos"]
    return figures | {"num_accepted_tokens_per_pos": [n / len(steps) for n in per_position]}
