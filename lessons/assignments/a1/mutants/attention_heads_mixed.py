"""Your heads look at each other's keys: each head attends on its own, over its own D channels."""

FAILS = "a1.q3.attention"

correct_attention = causal_attention


def causal_attention(queries, keys, values):
    def one_head(array):
        return array.reshape(len(array), 1, -1)

    return correct_attention(one_head(queries), one_head(keys), one_head(values)).reshape(queries.shape)
