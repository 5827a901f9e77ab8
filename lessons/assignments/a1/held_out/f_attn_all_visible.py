"""Loops over heads without a mask."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_no_mask"


def causal_attention(queries, keys, values):
    out = np.zeros_like(queries, dtype=float)
    for h in range(queries.shape[1]):
        s = queries[:, h] @ keys[:, h].T / np.sqrt(queries.shape[2])
        w = np.exp(s - s.max(1, keepdims=True))
        out[:, h] = w / w.sum(1, keepdims=True) @ values[:, h]
    return out
