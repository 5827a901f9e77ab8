"""Takes the softmax of the softmax."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_weights"


def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    visible = np.tri(T, S, S - T) > 0
    w = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    for _ in range(2):
        w = np.where(visible, w, -np.inf)
        w = np.exp(w - w.max(-1, keepdims=True))
        w = w / w.sum(-1, keepdims=True)
    return np.einsum("hts,shd->thd", w, values)
