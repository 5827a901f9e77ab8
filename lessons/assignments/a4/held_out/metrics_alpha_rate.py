"""alpha = accepted / drafted."""

FAILS = "a4.q6.ratios"
MISTAKE = "ratios_alpha_is_rate"

good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    drafted = told["num_draft_tokens"]
    told["alpha"] = told["num_accepted_tokens"] / drafted if drafted else None
    return told
