"""The largest score of all heads is subtracted, so rows underflow to nan."""

FAILS = "a1.q3.attention"
MISTAKE = ""


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(D)
    w = np.exp(s - s.max()) * np.tril(np.ones((T, S)), S - T)
    return np.einsum("hts,shd->thd", w / w.sum(-1, keepdims=True), values)
