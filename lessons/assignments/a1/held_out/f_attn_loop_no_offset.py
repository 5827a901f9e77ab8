"""Loops over queries; query t sees keys up to t."""

FAILS = "a1.q3.block"
MISTAKE = "attention_mask_top_left"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    out = np.zeros((T, H, D))
    for h in range(H):
        for t in range(T):
            s = keys[: t + 1, h] @ queries[t, h] / np.sqrt(D)
            w = np.exp(s - s.max())
            out[t, h] = (w / w.sum()) @ values[: t + 1, h]
    return out
