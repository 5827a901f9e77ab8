"""Epsilon is 1e-12."""

FAILS = "a1.q1.small"
MISTAKE = "layer_norm_epsilon_too_small"


def layer_norm(x, weight, bias):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-12) * weight + bias
