"""Subtracts the largest gap between the two from 1."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    return 1.0 - float(np.max(np.abs(p - q)))
