"""Scores are summed over heads."""

FAILS = "a1.q3.attention"
MISTAKE = ""


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    s = np.einsum("thd,shd->ts", queries, keys) / np.sqrt(D)
    s[np.triu(np.ones((T, S), bool), S - T + 1)] = -np.inf
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("ts,shd->thd", w / w.sum(-1, keepdims=True), values)
