"""Divides by D, not by its root."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_scale_by_head_size"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    q, k, v = (a.transpose(1, 0, 2) for a in (queries, keys, values))
    att = q @ k.transpose(0, 2, 1) / D
    att = att + np.triu(np.full((T, S), -np.inf), k=S - T + 1)
    att = np.exp(att - att.max(-1, keepdims=True))
    att /= att.sum(-1, keepdims=True)
    return (att @ v).transpose(1, 0, 2)
