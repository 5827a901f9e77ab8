"""Sums the larger of the two."""

FAILS = "a3.q1.overlap"
MISTAKE = "overlap_max"


def acceptance_probability(p, q):
    return sum(max(a, b) for a, b in zip(p.tolist(), q.tolist()))
