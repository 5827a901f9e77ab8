"""num_steps is the number of tokens."""

FAILS = "a4.q6.counts"
MISTAKE = ""

good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    told["num_steps"] = told["num_tokens"]
    return told
