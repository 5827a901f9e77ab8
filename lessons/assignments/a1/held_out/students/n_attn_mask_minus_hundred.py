"""Hides with -100, which is not little enough where scores are large."""

FAILS = "a1.q3.large"


def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[-1]
    scores = np.einsum("qhd,khd->hqk", queries, keys) / D**0.5
    scores = scores - 100 * np.triu(np.ones((T, S)), S - T + 1)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), values)
