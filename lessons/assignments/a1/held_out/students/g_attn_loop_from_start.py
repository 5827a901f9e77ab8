"""Lets query t see the first t + 1 keys, also when keys came before."""

FAILS = "a1.q3.block"
MISTAKE = "attention_mask_top_left"


def softmax(z):
    z = np.exp(z - np.max(z))
    return z / np.sum(z)


def causal_attention(queries, keys, values):
    out = np.zeros_like(queries, dtype=float)
    for t in range(len(queries)):
        for h in range(queries.shape[1]):
            w = softmax(keys[: t + 1, h] @ queries[t, h] / np.sqrt(queries.shape[2]))
            out[t, h] = w @ values[: t + 1, h]
    return out
