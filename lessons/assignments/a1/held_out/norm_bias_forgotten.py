"""Scales but does not shift."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_no_bias"


def layer_norm(x, weight, bias):
    mu, sigma2 = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return weight * (x - mu) * (sigma2 + EPSILON) ** -0.5
