"""Cuts the keys to the last T, as if nothing came before."""

FAILS = "a1.q3.block"
MISTAKE = "attention_unseen"


def causal_attention(queries, keys, values):
    T = len(queries)
    keys, values = keys[-T:], values[-T:]
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    s = np.where(np.tri(T, dtype=bool), s, -np.inf)
    s = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", s / s.sum(-1, keepdims=True), values)
