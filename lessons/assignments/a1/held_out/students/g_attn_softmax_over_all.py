"""Divides by the sum of all exponentials of a head, so the rows do not sum to 1."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_one_sum_for_all"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    out = []
    for h in range(H):
        scores = queries[:, h, :].dot(keys[:, h, :].T) / D**0.5
        for i in range(T):
            scores[i, S - T + i + 1 :] = -np.inf
        weights = np.exp(scores - np.max(scores))
        weights /= np.sum(weights)
        out.append(weights.dot(values[:, h, :]))
    return np.stack(out, axis=1)
