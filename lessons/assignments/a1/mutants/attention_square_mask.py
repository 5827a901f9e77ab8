"""Your mask is T by T; the scores are T by S, and with a filled cache S is larger."""

FAILS = "a1.q3.block"


def causal_attention(queries, keys, values):
    num_queries, head_size = len(queries), queries.shape[-1]
    heads = []
    for head in range(queries.shape[1]):
        scores = queries[:, head] @ keys[:, head].T / np.sqrt(head_size)
        scores = scores + np.triu(np.full((num_queries, num_queries), -np.inf), 1)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads.append(weights / weights.sum(axis=-1, keepdims=True) @ values[:, head])
    return np.stack(heads, axis=1)
