"""Your epsilon is smaller than 1e-5; rows of little variance show it."""

FAILS = "a1.q1.small"


def layer_norm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6) * weight + bias
