"""You mask after the softmax, so the weights of a row no longer sum to 1. Mask the scores before it."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    weights = weights * np.tri(len(queries), len(keys), len(keys) - len(queries))
    return np.einsum("hts,shd->thd", weights, values)
