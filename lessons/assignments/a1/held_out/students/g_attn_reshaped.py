"""Reshapes (T, H, D) to (H, T, D), which mixes tokens and heads, where a transpose is needed."""

FAILS = "a1.q3.attention"
MISTAKE = "attention_reshaped_not_turned"


def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    q, k, v = queries.reshape(H, T, D), keys.reshape(H, S, D), values.reshape(H, S, D)
    a = q @ k.swapaxes(1, 2) / np.sqrt(D)
    a = np.where(np.tri(T, S, S - T) > 0, a, -np.inf)
    a = np.exp(a - a.max(2, keepdims=True))
    a = a / a.sum(2, keepdims=True)
    return (a @ v).reshape(T, H, D)
