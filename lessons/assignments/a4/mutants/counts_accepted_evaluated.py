"""You leave the rejected draft out of the evaluated ones; it was judged too."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_evaluated_tokens": sum(min(s["accepted"], s["emitted"]) for s in steps)}
