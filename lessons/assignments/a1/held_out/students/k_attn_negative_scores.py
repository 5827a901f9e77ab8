"""Weighs by distance: the sign of the scores is wrong."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_factor"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    out = np.zeros_like(queries)
    for t in range(T):
        n = keys.shape[0] - T + t + 1
        for h in range(H):
            e = np.array([-(queries[t, h] * keys[s, h]).sum() / np.sqrt(D) for s in range(n)])
            e = np.exp(e - e.max())
            out[t, h] = sum(e[s] / e.sum() * values[s, h] for s in range(n))
    return out
