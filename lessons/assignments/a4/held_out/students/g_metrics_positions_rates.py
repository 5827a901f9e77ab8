"""Divides the counts by place by the number of steps."""

FAILS = "a4.q6.positions"
MISTAKE = "positions_as_rates"


def metrics(steps):
    keys = ["emitted", "drafted"]
    emitted, drafted = ([s[k] for s in steps] for k in keys)
    good = [min(s["accepted"], s["emitted"]) for s in steps]
    seen = [min(s["accepted"] + 1, s["emitted"], s["drafted"]) for s in steps]
    width = max(drafted) if drafted else 0
    table = {"num_tokens": sum(emitted), "num_steps": len(steps), "num_draft_tokens": sum(drafted)}
    table["num_accepted_tokens"] = sum(good)
    table["num_evaluated_tokens"] = sum(seen)
    table["num_accepted_tokens_per_pos"] = [sum(g > i for g in good) / len(steps) for i in range(width)]
    table["mean_acceptance_length"] = sum(emitted) / len(steps) if steps else None
    table["draft_acceptance_rate"] = sum(good) / sum(drafted) if sum(drafted) else None
    table["alpha"] = sum(good) / sum(seen) if sum(seen) else None
    return table
