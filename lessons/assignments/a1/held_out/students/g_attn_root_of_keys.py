"""Divides the scores by the root of the number of keys."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_scale_by_keys"


def causal_attention(queries, keys, values):
    n, S = len(queries), len(keys)
    res = np.zeros(queries.shape)
    for i in range(n):
        last = S - n + i + 1
        sc = (keys[:last] * queries[i]).sum(axis=2) / np.sqrt(keys.shape[0])
        sc = np.exp(sc - sc.max(axis=0))
        sc = sc / sc.sum(axis=0)
        res[i] = (sc[:, :, None] * values[:last]).sum(axis=0)
    return res
