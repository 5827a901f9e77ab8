"""Divides the tokens by one more than the drafts."""

FAILS = "a4.q6.ratios"


def metrics(steps):
    result = dict.fromkeys(["mean_acceptance_length", "draft_acceptance_rate", "alpha"])
    good = [min(s["accepted"], s["emitted"]) for s in steps]
    result["num_tokens"] = sum(s["emitted"] for s in steps)
    result["num_steps"] = len(steps)
    result["num_draft_tokens"] = sum(s["drafted"] for s in steps)
    result["num_accepted_tokens"] = sum(good)
    result["num_evaluated_tokens"] = sum(min(s["accepted"] + 1, s["emitted"], s["drafted"]) for s in steps)
    result["num_accepted_tokens_per_pos"] = [
        sum(g > i for g in good) for i in range(max([s["drafted"] for s in steps] or [0]))
    ]
    if steps:
        result["mean_acceptance_length"] = result["num_tokens"] / (result["num_draft_tokens"] + 1)
    if result["num_draft_tokens"]:
        result["draft_acceptance_rate"] = result["num_accepted_tokens"] / result["num_draft_tokens"]
    if result["num_evaluated_tokens"]:
        result["alpha"] = result["num_accepted_tokens"] / result["num_evaluated_tokens"]
    return result
