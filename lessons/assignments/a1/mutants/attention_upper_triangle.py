"""Your mask is upside down: tokens see themselves and what follows, not what came before."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = np.where(np.triu(np.ones(scores.shape[1:])) == 1, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), values)
