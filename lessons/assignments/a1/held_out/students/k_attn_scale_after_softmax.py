"""Divides the weights, not the scores, by the root of D."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_sums"


def causal_attention(queries, keys, values):
    T, S, D = queries.shape[0], keys.shape[0], queries.shape[-1]
    hidden = ~np.tri(T, S, S - T, dtype=bool)
    s = np.einsum("thd,shd->hts", queries, keys)
    s[:, hidden] = -np.inf
    s = np.exp(s - s.max(-1, keepdims=True))
    s = s / s.sum(-1, keepdims=True) / np.sqrt(D)
    return np.einsum("hts,shd->thd", s, values)
