"""Calls every emitted draft position judged, also those behind the rejection."""

FAILS = "a4.q6.counts"
MISTAKE = "counts_all_drafts_evaluated"
ALSO = ("ratios_alpha_is_rate",)


def metrics(steps):
    a = sum(min(s["accepted"], s["emitted"]) for s in steps)
    d = sum(s["drafted"] for s in steps)
    e = sum(s["drafted"] for s in steps)
    t = sum(s["emitted"] for s in steps)
    places = []
    for i in range(max((s["drafted"] for s in steps), default=0)):
        places.append(sum(1 for s in steps if min(s["accepted"], s["emitted"]) > i))
    return {
        "num_tokens": t,
        "num_steps": len(steps),
        "num_draft_tokens": d,
        "num_accepted_tokens": a,
        "num_evaluated_tokens": e,
        "num_accepted_tokens_per_pos": places,
        "mean_acceptance_length": t / len(steps) if steps else None,
        "draft_acceptance_rate": a / d if d else None,
        "alpha": a / e if e else None,
    }
