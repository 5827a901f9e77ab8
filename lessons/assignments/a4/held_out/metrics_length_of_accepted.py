"""Accepted per step."""

FAILS = "a4.q6.ratios"
MISTAKE = "ratios_length_without_bonus"

good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    told["mean_acceptance_length"] = sum(told["num_accepted_tokens_per_pos"]) / len(steps) if steps else None
    return told
