"""Divides by the mean absolute deviation."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_deviation"


def layer_norm(x, weight, bias):
    d = x - np.mean(x, axis=-1, keepdims=True)
    spread = np.mean(np.abs(d), axis=-1, keepdims=True)
    return d / (spread + EPSILON) * weight + bias
