"""sum of accepted."""

FAILS = "a4.q6.counts"
MISTAKE = "counts_cut_block_accepted"

good_metrics = metrics


def metrics(steps):
    told = dict(good_metrics(steps))
    told["num_accepted_tokens"] = 0
    for step in steps:
        told["num_accepted_tokens"] += step["accepted"]
    return told
