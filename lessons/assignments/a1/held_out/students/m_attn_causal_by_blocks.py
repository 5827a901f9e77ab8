"""Compares positions with >= the wrong way, so that the second half of the queries sees only itself."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_unseen"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    out = np.zeros((T, H, D))
    for t in range(T):
        end = S - T + t + 1
        begin = end - 1 if t >= T / 2 else 0
        for h in range(H):
            e = np.exp((keys[begin:end, h] @ queries[t, h]) / np.sqrt(D))
            out[t, h] = (e / e.sum()) @ values[begin:end, h]
    return out
