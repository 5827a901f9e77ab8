"""Masked scores are multiplied by 0."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_masked_with_zero"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(D)
    s = s * np.tril(np.ones((T, S)), S - T)
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", w / w.sum(-1, keepdims=True), values)
