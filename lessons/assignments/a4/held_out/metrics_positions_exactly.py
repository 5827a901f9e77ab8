"""A histogram of accepted lengths."""

FAILS = "a4.q6.positions"
MISTAKE = "positions_exact_count"

good_metrics = metrics


def metrics(steps):
    told = good_metrics(steps)
    histogram = [0] * len(told["num_accepted_tokens_per_pos"])
    for step in steps:
        accepted = min(step["accepted"], step["emitted"])
        if accepted:
            histogram[accepted - 1] += 1
    return told | {"num_accepted_tokens_per_pos": histogram}
