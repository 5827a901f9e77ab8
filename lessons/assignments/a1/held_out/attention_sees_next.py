"""An off-by-one of the mask."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_one_ahead"


def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[2])
    future = np.arange(S)[None] > np.arange(T)[:, None] + S - T + 1
    s[:, future] = -np.inf
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", w / w.sum(-1, keepdims=True), values)
