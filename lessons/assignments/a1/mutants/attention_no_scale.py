"""Your scores are not divided by sqrt(D)."""

FAILS = "a1.q3.attention"

correct_attention = causal_attention


def causal_attention(queries, keys, values):
    return correct_attention(queries * np.sqrt(queries.shape[-1]), keys, values)
