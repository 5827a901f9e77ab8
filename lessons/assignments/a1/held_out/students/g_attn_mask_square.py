"""Builds a square mask of T by T, which does not fit when there are more keys."""

FAILS = "a1.q3.block"
MISTAKE = "attention_square_mask"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    mask = np.triu(np.full((T, T), -np.inf), 1)
    out = np.zeros((T, H, D))
    for h in range(H):
        s = queries[:, h] @ keys[:, h].T / np.sqrt(D) + mask
        e = np.exp(s - s.max(axis=1, keepdims=True))
        out[:, h] = (e / e.sum(axis=1, keepdims=True)) @ values[:, h]
    return out
