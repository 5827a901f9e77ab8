"""Masks only where there are as many queries as keys."""

FAILS = "a1.q3.block"
MISTAKE = "attention_future"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(D)
    if T == S:
        s = s + np.triu(np.full((T, T), -1e9), k=1)
    s = s - np.max(s, axis=-1, keepdims=True)
    p = np.exp(s)
    p = p / np.sum(p, axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", p, values)
