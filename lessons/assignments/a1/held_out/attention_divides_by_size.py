"""Divides by D."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_scale_by_head_size"


def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[2]
    out = np.zeros_like(queries, dtype=float)
    for t in range(T):
        seen = S - T + t + 1
        for h in range(queries.shape[1]):
            s = keys[:seen, h] @ queries[t, h] / D
            w = np.exp(s - s.max())
            out[t, h] = (w / w.sum()) @ values[:seen, h]
    return out
