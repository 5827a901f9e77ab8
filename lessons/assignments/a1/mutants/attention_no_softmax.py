"""You weigh with the scores themselves; take their softmax first."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = scores * np.tri(num_queries, num_keys, num_keys - num_queries)
    return np.einsum("hts,shd->thd", scores, values)
