"""Your mask starts at the first key: with T queries and S keys, query t is token S - T + t of the text."""

FAILS = "a1.q3.block"


def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = np.tri(len(queries), len(keys), 0, dtype=bool)
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)
