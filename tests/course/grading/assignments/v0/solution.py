"""V0: shares and levels. Q3 builds on Q1."""

import numpy as np

FLOOR = 0.25


def share(counts, i):
    """Q1. Return the share of entry i, such as `share([1, 3], 0)`: a quarter."""
    # BEGIN SOLUTION
    return counts[i] / sum(counts)
    # END SOLUTION


def level(x):
    """Q2. Return x, but never less than FLOOR; a `level` is no share."""
    # BEGIN SOLUTION
    level = float(x)  # a local of the same name
    return max(level, FLOOR)
    # END SOLUTION


def spread(counts):
    """Q3. Return the largest share less the smallest: use `share`."""
    # BEGIN SOLUTION
    shares = [share(counts, i) for i in range(len(counts))]
    return float(np.ptp(shares))
    # END SOLUTION
