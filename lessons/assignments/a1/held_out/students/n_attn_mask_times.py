"""Multiplies scores by the mask, so that hidden ones are 0 and still count."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_masked_with_zero"


def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[-1]
    mask = np.tril(np.ones((T, S)), S - T)
    scores = np.einsum("qhd,khd->hqk", queries, keys) / D**0.5 * mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), values)
