"""A0: an example as small as can be."""

import numpy as np


def accept(p, q, token, u):
    """Q1. Accept a token drawn from q with probability min(1, p/q)."""
    # BEGIN SOLUTION
    return bool(u * q[token] < p[token])
    # END SOLUTION


def draw_two(target, noise):
    """Q2. Draw two tokens: `target(tokens)` is the distribution of the next. Keep the second if `accept` says so."""
    # BEGIN SOLUTION
    first = noise.categorical(target([]))
    second = noise.categorical(target([first]))
    return [first, second] if accept(np.array([0.5, 0.5]), np.array([0.5, 0.5]), second, 0.75) else [first]
    # END SOLUTION
