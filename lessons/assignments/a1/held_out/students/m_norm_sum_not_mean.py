"""Forgets to divide the sum of squares by the number of channels."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_deviation"


def layer_norm(x, weight, bias):
    centred = x - x.sum(axis=-1, keepdims=True) / x.shape[-1]
    total = np.sum(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(total + EPSILON) * weight + bias
