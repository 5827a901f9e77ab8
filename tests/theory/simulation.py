"""Steps of speculation as coin tosses, and how far an honest mean may stray."""

from __future__ import annotations

import math

import numpy as np

Z = 6.0
"""Standard errors a simulated mean may be off. By the normal approximation a right formula fails with probability
2e-9 per comparison; there are fewer than 100 in this suite, so a false alarm has probability below 2e-7 over all of
them, and the seeds are fixed: it would show on the first run or never."""


def rng(seed):
    return np.random.default_rng(seed)


def accepted_lengths(generator, acceptances, num_steps):
    """Number of accepted drafts of each step; column i of the tosses decides draft i."""
    tosses = generator.random((num_steps, len(acceptances))) < np.asarray(acceptances)
    return np.cumprod(tosses, axis=1).sum(axis=1)


def agrees(samples, expected):
    samples = np.asarray(samples, dtype=float)
    error = samples.std(ddof=1) / math.sqrt(len(samples))
    return abs(samples.mean() - expected) <= Z * error + 1e-12
