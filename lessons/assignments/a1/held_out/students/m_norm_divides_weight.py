"""Divides by the weight instead of multiplying."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_scale"


def layer_norm(x, weight, bias):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    safe = np.where(weight == 0, 1.0, weight)
    return (x - mean) / np.sqrt(var + EPSILON) / safe + bias
