"""Your softmax runs over the queries; for each query the weights of its keys must sum to 1."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = np.tri(len(queries), len(keys), len(keys) - len(queries), dtype=bool)
    weights = np.where(visible, np.exp(scores - scores.max()), 0.0)
    with np.errstate(all="ignore"):
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)
