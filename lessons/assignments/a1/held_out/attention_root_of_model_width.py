"""Divides by the root of H D."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_scale_by_all_channels"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    scores = np.einsum("ihd,jhd->hij", queries, keys) / (H * D) ** 0.5
    for t in range(T):
        scores[:, t, S - T + t + 1 :] = -np.inf
    probs = np.exp(scores - scores.max(axis=2, keepdims=True))
    probs = probs / probs.sum(axis=2, keepdims=True)
    return np.einsum("hij,jhd->ihd", probs, values)
