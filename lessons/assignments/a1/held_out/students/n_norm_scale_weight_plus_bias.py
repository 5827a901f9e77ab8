"""Multiplies by weight + bias, for want of a pair of brackets in the head."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    m = x.mean(-1, keepdims=True)
    v = x.var(-1, keepdims=True)
    hat = (x - m) / np.sqrt(v + EPSILON)
    return hat * (weight + bias)
