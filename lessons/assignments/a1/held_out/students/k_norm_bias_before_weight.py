"""Adds the bias before it multiplies by the weight."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_shift"


def layer_norm(x, weight, bias):
    z = (x - np.mean(x, -1, keepdims=True)) / (np.var(x, -1, keepdims=True) + EPSILON) ** 0.5
    z = z + bias
    return z * weight
