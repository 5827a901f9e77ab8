"""Sums the draft's mass on the tokens that the target likes at least as well."""

FAILS = "a3.q1.overlap"
MISTAKE = "overlap_where_p_is_larger"


def acceptance_probability(p, q):
    return float(q[p >= q].sum())
