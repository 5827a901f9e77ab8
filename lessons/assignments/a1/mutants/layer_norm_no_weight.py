"""The weight is missing from your result."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    variance = x.var(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + EPSILON) + bias
