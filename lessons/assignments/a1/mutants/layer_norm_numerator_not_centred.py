"""You divide x itself by the standard deviation; subtract the mean first."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON) * weight + bias
