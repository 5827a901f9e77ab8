"""Your mask is inverted: it hides what a token may see, and leaves what comes after it."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = ~np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
    scores = np.where(visible, scores, -1e30)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(axis=-1, keepdims=True), values)
