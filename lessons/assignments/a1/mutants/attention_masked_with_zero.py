"""You set masked scores to 0; exp(0) is 1, so the future still counts. Use minus infinity."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = scores * np.tri(len(queries), len(keys), len(keys) - len(queries))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)
