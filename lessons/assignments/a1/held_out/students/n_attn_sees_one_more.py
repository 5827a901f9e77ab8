"""Each token sees the one after it too."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_one_ahead"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    out = np.zeros_like(queries, dtype=float)
    for t in range(T):
        upto = S - T + t + 2
        for h in range(H):
            s = keys[:upto, h] @ queries[t, h] / np.sqrt(D)
            w = np.exp(s - s.max())
            out[t, h] = w @ values[:upto, h] / w.sum()
    return out
