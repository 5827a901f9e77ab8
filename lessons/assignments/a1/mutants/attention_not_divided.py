"""You do not divide the exponentials by their sum: the weights of a query must sum to 1."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = np.where(np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool), scores, -np.inf)
    return np.einsum("hts,shd->thd", np.exp(scores - scores.max(axis=-1, keepdims=True)), values)
