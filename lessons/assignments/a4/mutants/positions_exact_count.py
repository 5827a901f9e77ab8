"""Your entry i counts the steps that accepted exactly i + 1 drafts; count those that accepted draft i: at least i + 1."""

FAILS = "a4.q6.positions"

right_metrics = metrics


def metrics(steps):
    figures = right_metrics(steps)
    size = len(figures["num_accepted_tokens_per_pos"])
    exact = [sum(min(s["accepted"], s["emitted"]) == i + 1 for s in steps) for i in range(size)]
    return figures | {"num_accepted_tokens_per_pos": exact}
