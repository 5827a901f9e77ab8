"""Your mask subtracts a small number, so the future still has some weight. Use minus infinity."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores -= 10.0 * (1 - np.tri(len(queries), len(keys), len(keys) - len(queries)))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), values)
