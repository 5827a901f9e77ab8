"""Your softmax overflows: exp of a large score is infinite. Subtract the largest score of each row first."""

FAILS = "a1.q3.large"


def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = np.tri(len(queries), len(keys), len(keys) - len(queries), dtype=bool)
    with np.errstate(all="ignore"):
        weights = np.where(visible, np.exp(scores), 0.0)
        weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)
