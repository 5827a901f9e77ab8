"""Per position as long as the longest acceptance."""

FAILS = "a4.q6.positions"
MISTAKE = "positions_trimmed"


def _figures(steps, acc, ev, tokens=None):
    dr = [s["drafted"] for s in steps]
    n = sum(s["emitted"] for s in steps) if tokens is None else tokens
    return {
        "num_tokens": n,
        "num_steps": len(steps),
        "num_draft_tokens": sum(dr),
        "num_accepted_tokens": sum(acc),
        "num_evaluated_tokens": sum(ev),
        "num_accepted_tokens_per_pos": [sum(a > i for a in acc) for i in range(max(dr, default=0))],
        "mean_acceptance_length": n / len(steps) if steps else None,
        "draft_acceptance_rate": sum(acc) / sum(dr) if sum(dr) else None,
        "alpha": sum(acc) / sum(ev) if sum(ev) else None,
    }


def metrics(steps):
    acc = [min(s["accepted"], s["emitted"]) for s in steps]
    out = _figures(steps, acc, [min(s["drafted"], s["accepted"] + 1, s["emitted"]) for s in steps])
    out["num_accepted_tokens_per_pos"] = [sum(a > i for a in acc) for i in range(max(acc, default=0))]
    return out
