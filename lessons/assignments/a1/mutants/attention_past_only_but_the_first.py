"""Your tokens do not see themselves (only the first one does): token t sees the tokens up to t, itself included."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values, right=causal_attention):
    before = len(keys) - len(queries)
    ends = [max(1, before + t) for t in range(len(queries))]
    return np.concatenate([right(queries[t : t + 1], keys[:end], values[:end]) for t, end in enumerate(ends)])
