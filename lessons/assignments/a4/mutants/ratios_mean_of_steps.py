"""You average the steps' ratios; divide the sums."""

FAILS = "a4.q6.ratios"

right_metrics = metrics


def metrics(steps):
    rates = [min(s["accepted"], s["emitted"]) / s["drafted"] for s in steps if s["drafted"]]
    return right_metrics(steps) | {"draft_acceptance_rate": sum(rates) / len(rates) if rates else None}
