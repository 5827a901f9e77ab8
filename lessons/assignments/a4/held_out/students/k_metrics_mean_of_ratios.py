"""Averages the acceptance rates of the steps."""

FAILS = "a4.q6.ratios"
MISTAKE = "ratios_mean_of_steps"


def metrics(steps):
    accepted = [min(s["accepted"], s["emitted"]) for s in steps]
    judged = [min(s["accepted"] + 1, s["emitted"], s["drafted"]) for s in steps]
    drafted = [s["drafted"] for s in steps]
    emitted = [s["emitted"] for s in steps]
    rates = [a / d for a, d in zip(accepted, drafted) if d]
    alphas = [a / j for a, j in zip(accepted, judged) if j]
    positions = [0] * max(drafted, default=0)
    for a in accepted:
        for i in range(a):
            positions[i] += 1
    return {
        "num_tokens": sum(emitted),
        "num_steps": len(emitted),
        "num_draft_tokens": sum(drafted),
        "num_accepted_tokens": sum(accepted),
        "num_evaluated_tokens": sum(judged),
        "num_accepted_tokens_per_pos": positions,
        "mean_acceptance_length": sum(emitted) / len(emitted) if emitted else None,
        "draft_acceptance_rate": sum(rates) / len(rates) if rates else None,
        "alpha": sum(alphas) / len(alphas) if alphas else None,
    }
