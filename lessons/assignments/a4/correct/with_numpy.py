"""Figures with NumPy; its scalars are returned."""

import numpy as np


def metrics(steps):
    table = np.array([[step["drafted"], step["accepted"], step["emitted"]] for step in steps], int).reshape(-1, 3)
    drafted, accepted, emitted = table.T
    accepted_emitted = np.minimum(accepted, emitted)
    rejected = (accepted < drafted) & (emitted > accepted)
    evaluated = accepted_emitted + rejected
    longest = int(drafted.max()) if len(table) else 0

    def ratio(a, b):
        return np.float64(a) / b if b else None

    return {
        "num_tokens": emitted.sum(),
        "num_steps": np.int64(len(table)),
        "num_draft_tokens": drafted.sum(),
        "num_accepted_tokens": accepted_emitted.sum(),
        "num_evaluated_tokens": evaluated.sum(),
        "num_accepted_tokens_per_pos": (accepted_emitted[:, None] > np.arange(longest)).sum(axis=0),
        "mean_acceptance_length": ratio(emitted.sum(), len(table)),
        "draft_acceptance_rate": ratio(accepted_emitted.sum(), drafted.sum()),
        "alpha": ratio(accepted_emitted.sum(), evaluated.sum()),
    }


def compare(plain, speculative):
    a, b = np.array(plain, float), np.array(speculative, float)
    ratios = (a[:, 0] * b[:, 1]) / (a[:, 1] * b[:, 0])
    return [np.median(ratios), ratios.min(), ratios.max()]


def latency(start, arrivals):
    if len(arrivals) == 0:
        return [None, None]
    times, counts = np.array(arrivals, float).T
    rest = counts[1:].sum()
    return times[0] - start, (np.diff(times).sum() / rest if rest else None)
