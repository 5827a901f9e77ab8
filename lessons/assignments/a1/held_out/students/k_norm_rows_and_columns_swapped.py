"""Normalises the columns of the transposed array and forgets to turn it back in the statistics."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_over_tokens"


def layer_norm(x, weight, bias):
    m = np.array([np.mean(column) for column in x.T])
    s = np.array([np.var(column) for column in x.T])
    return (x - m) / np.sqrt(s + EPSILON) * weight + bias
