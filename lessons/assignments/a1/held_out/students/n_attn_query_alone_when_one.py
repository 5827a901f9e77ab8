"""With one query it looks at the first key only: it takes T for S."""

FAILS = "a1.q3.block"
MISTAKE = "attention_mask_top_left"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    out = np.zeros((T, H, D))
    for t in range(T):
        for h in range(H):
            s = np.array([queries[t, h] @ keys[j, h] for j in range(t + 1)]) / np.sqrt(D)
            p = np.exp(s - max(s))
            p = p / sum(p)
            out[t, h] = sum(p[j] * values[j, h] for j in range(t + 1))
    return out
