"""Your scores are divided by sqrt(H D), the root of all channels; each head has D of its own."""

FAILS = "a1.q3.attention"

correct_attention = causal_attention


def causal_attention(queries, keys, values):
    return correct_attention(queries / np.sqrt(queries.shape[1]), keys, values)
