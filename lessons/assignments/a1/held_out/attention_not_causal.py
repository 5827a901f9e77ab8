"""Every query sees every key."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_no_mask"


def causal_attention(queries, keys, values):
    s = np.einsum("qhd,khd->hqk", queries, keys) * queries.shape[-1] ** -0.5
    s = s - s.max(-1, keepdims=True)
    w = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", w, values)
