"""Takes the softmax of all scores and then drops the future's weights."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_masked_after_softmax"


def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    out = []
    for h in range(queries.shape[1]):
        s = queries[:, h] @ keys[:, h].T / queries.shape[2] ** 0.5
        p = np.exp(s - s.max(axis=1, keepdims=True))
        p = p / p.sum(axis=1, keepdims=True)
        p = np.array([[p[i, j] if j <= S - T + i else 0.0 for j in range(S)] for i in range(T)])
        out.append(p @ values[:, h])
    return np.array(out).transpose(1, 0, 2)
