"""Sums over the queries in the softmax's denominator."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_sums"


def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[-1]
    scores = np.einsum("qhd,khd->hqk", queries, keys) / D**0.5
    scores = np.where(np.tri(T, S, S - T) == 1, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", e / e.sum(axis=1, keepdims=True), values)
