"""Normalises along the wrong axis."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_softmax_over_queries"
ALSO = ("attention_sums",)


def causal_attention(queries, keys, values):
    q, k, v = np.swapaxes(queries, 0, 1), np.swapaxes(keys, 0, 1), np.swapaxes(values, 0, 1)
    w = np.matmul(q, np.swapaxes(k, 1, 2)) / np.sqrt(q.shape[2])
    T, S = w.shape[1:]
    for t in range(T):
        w[:, t, t + S - T + 1 :] = -1e9
    w = np.exp(w - w.max(axis=1, keepdims=True))
    w = w / w.sum(axis=1, keepdims=True)
    return np.swapaxes(np.matmul(w, v), 0, 1)
