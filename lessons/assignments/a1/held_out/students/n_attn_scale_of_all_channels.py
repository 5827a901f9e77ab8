"""Divides by the root of H D instead of D."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_scale_by_all_channels"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    res = np.zeros((T, H, D))
    for h in range(H):
        s = queries[:, h] @ keys[:, h].T / np.sqrt(H * D)
        s[np.arange(S)[None, :] > np.arange(S - T, S)[:, None]] = -np.inf
        s = np.exp(s - s.max(1, keepdims=True))
        res[:, h] = s / s.sum(1, keepdims=True) @ values[:, h]
    return res
