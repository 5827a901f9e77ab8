"""You reshape (T, H, D) to (H, T, D), which mixes tokens and heads; turn the axes with transpose."""

FAILS = "a1.q3.attention"


def causal_attention(queries, keys, values, right=causal_attention):
    def mix(x):
        return x.reshape(x.shape[1], len(x), -1).transpose(1, 0, 2)

    return right(mix(queries), mix(keys), mix(values)).transpose(1, 0, 2).reshape(queries.shape)
