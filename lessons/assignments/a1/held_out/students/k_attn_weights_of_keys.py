"""Weighs the keys instead of the values."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_values"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    result = np.zeros((T, H, D))
    for head in range(H):
        K = keys[:, head]
        logits = queries[:, head] @ K.T / np.sqrt(D)
        logits[np.arange(S) > np.arange(T)[:, None] + (S - T)] = -np.inf
        P = np.exp(logits - logits.max(1)[:, None])
        P = P / P.sum(1)[:, None]
        result[:, head] = P @ K
    return result
