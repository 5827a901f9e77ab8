"""Takes the accepted drafts before the cut."""

FAILS = "a4.q6.counts"
MISTAKE = "counts_cut_block_accepted"
ALSO = ("positions_cut_block",)


def metrics(steps):
    emitted = [s["emitted"] for s in steps]
    acc = [s["accepted"] for s in steps]
    dr = [s["drafted"] for s in steps]
    ev = [min(d, a + 1, e) for d, a, e in zip(dr, acc, emitted)]
    return {
        "num_tokens": sum(emitted),
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": sum(emitted) / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }
