"""You add q where p is at least as large; where q is larger, a draft is still accepted with probability p/q, which adds p."""

FAILS = "a3.q1.overlap"


def acceptance_probability(p, q):
    return float(q[p >= q].sum())
