"""Sets what may be seen to minus infinity and leaves the future."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_sees_the_future_only"


def causal_attention(queries, keys, values):
    T, S = queries.shape[0], keys.shape[0]
    q, k, v = (a.transpose(1, 0, 2) for a in (queries, keys, values))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    past = np.tril(np.ones((T, S)), S - T)
    scores[:, past == 1] = -1e30
    w = np.exp(scores - scores.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return (w @ v).transpose(1, 0, 2)
