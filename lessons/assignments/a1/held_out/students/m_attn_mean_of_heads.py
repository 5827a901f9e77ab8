"""Averages the weights of all heads and uses them for each."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_weights"


def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    s[:, ~(np.tri(T, S, S - T) > 0)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    p = (p / p.sum(-1, keepdims=True)).mean(0)
    return np.einsum("ts,shd->thd", p, values)
