"""Sees only the last four tokens."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_unseen"


def causal_attention(queries, keys, values):
    out = np.empty(queries.shape)
    shift = keys.shape[0] - queries.shape[0]
    for t, q in enumerate(queries):
        end = shift + t + 1
        begin = max(0, end - 4)
        s = np.einsum("hd,shd->sh", q, keys[begin:end]) / np.sqrt(q.shape[-1])
        s = np.exp(s - s.max(0))
        out[t] = np.einsum("sh,shd->hd", s / s.sum(0), values[begin:end])
    return out
