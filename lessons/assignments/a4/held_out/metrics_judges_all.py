"""evaluated = drafted."""

FAILS = "a4.q6.counts"
MISTAKE = "counts_all_drafts_evaluated"

good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    told["num_evaluated_tokens"] = told["num_draft_tokens"]
    return told
