"""Takes the last emitted token of each step for the target's own, also where the step was cut."""

FAILS = "a4.q6.counts"
MISTAKE = "counts_last_emitted_is_the_bonus"


def metrics(steps):
    acc = [max(0, s["emitted"] - 1) for s in steps]
    dr = [s["drafted"] for s in steps]
    ev = [min(d, a + 1) for d, a in zip(dr, acc)]
    n = sum(s["emitted"] for s in steps)
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [len([a for a in acc if a > i]) for i in range(max(dr + [0]))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }
