"""Your tokens see the one after them: the mask is one too generous."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = np.tri(len(queries), len(keys), len(keys) - len(queries) + 1, dtype=bool)
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)
