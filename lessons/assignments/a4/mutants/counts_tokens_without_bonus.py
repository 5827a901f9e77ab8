"""Your tokens are the accepted drafts only; every emitted token counts."""

FAILS = "a4.q6.counts"

right_metrics = metrics


def metrics(steps):
    return right_metrics(steps) | {"num_tokens": sum(min(step["accepted"], step["emitted"]) for step in steps)}
