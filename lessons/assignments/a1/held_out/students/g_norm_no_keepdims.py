"""Forgets keepdims, so the means are subtracted along the wrong axis or do not fit."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_no_keepdims"


def layer_norm(x, weight, bias):
    mu = x.mean(axis=-1)
    var = x.var(axis=-1)
    return (x - mu) / np.sqrt(var + EPSILON) * weight + bias
