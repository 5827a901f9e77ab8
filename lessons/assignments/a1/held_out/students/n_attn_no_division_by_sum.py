"""Forgets to divide by the sum of the exponentials."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_not_divided"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    out = np.zeros((T, H, D))
    for h in range(H):
        for i in range(T):
            n = S - T + i + 1
            s = (keys[:n, h] * queries[i, h]).sum(-1) / np.sqrt(D)
            out[i, h] = (np.exp(s - s.max())[:, None] * values[:n, h]).sum(0)
    return out
