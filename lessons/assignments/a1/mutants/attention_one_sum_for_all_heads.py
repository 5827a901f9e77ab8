"""You divide by one sum over all heads, queries and keys; each query's weights must sum to 1 in each head."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = np.where(np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max())
    return np.einsum("hts,shd->thd", weights / weights.sum(), values)
