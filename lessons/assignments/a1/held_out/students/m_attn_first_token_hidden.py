"""Starts its slices at 1, so the first token is never seen (but by itself)."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_unseen"


def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[2]
    res = np.empty(queries.shape)
    for i in range(T):
        stop = S - T + i + 1
        start = 1 if stop > 1 else 0
        for h in range(queries.shape[1]):
            a = keys[start:stop, h] @ queries[i, h] / D**0.5
            a = np.exp(a - a.max())
            res[i, h] = a @ values[start:stop, h] / a.sum()
    return res
