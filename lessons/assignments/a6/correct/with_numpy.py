"""Draft lengths and pages with NumPy."""

import numpy as np


def pages(slots, size):
    return np.int64(np.ceil(slots / size))


def best_gamma(alphas, seconds, draft_s, largest):
    most = min(largest, len(seconds) // len(alphas) - 1)
    gammas = np.arange(most + 1)
    survive = np.cumsum(np.asarray(alphas)[:, None] ** gammas, axis=1).sum(axis=0)
    times = np.asarray(seconds)[len(alphas) * (gammas + 1) - 1] + gammas * draft_s
    return int(np.argmax(survive / times))
