"""You multiply the scores by sqrt(D); divide them by it."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values, right=causal_attention):
    return right(queries * queries.shape[-1], keys, values)
