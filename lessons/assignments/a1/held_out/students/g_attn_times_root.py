"""Multiplies the scores by the root of D."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_multiplied_by_the_root"


def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[2]
    scores = np.einsum("qhd,khd->hqk", queries, keys) * np.sqrt(D)
    future = np.arange(S)[None, :] > (np.arange(T) + S - T)[:, None]
    scores[:, future] = -np.inf
    scores -= scores.max(axis=2, keepdims=True)
    w = np.exp(scores)
    return np.einsum("hqk,khd->qhd", w / w.sum(axis=2, keepdims=True), values)
