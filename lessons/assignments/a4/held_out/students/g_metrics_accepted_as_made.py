"""Counts what the rule accepted, also what was cut away."""

FAILS = "a4.q6.counts"
MISTAKE = "counts_cut_block_accepted"
ALSO = ("positions_cut_block",)


def metrics(steps):
    tokens = drafted = accepted = judged = 0
    longest = max([s["drafted"] for s in steps], default=0)
    by_place = [0] * longest
    for s in steps:
        tokens += s["emitted"]
        drafted += s["drafted"]
        accepted += s["accepted"]
        judged += min(s["accepted"] + 1, s["drafted"])
        for i in range(s["accepted"]):
            by_place[i] += 1

    def ratio(a, b):
        return a / b if b else None

    return {
        "num_tokens": tokens,
        "num_steps": len(steps),
        "num_draft_tokens": drafted,
        "num_accepted_tokens": accepted,
        "num_evaluated_tokens": judged,
        "num_accepted_tokens_per_pos": by_place,
        "mean_acceptance_length": ratio(tokens, len(steps)),
        "draft_acceptance_rate": ratio(accepted, drafted),
        "alpha": ratio(accepted, judged),
    }
