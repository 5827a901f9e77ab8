"""Divides x itself by the deviation and forgets to subtract the mean there."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_numerator_not_centred"


def layer_norm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    std = np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + EPSILON)
    return x / std * weight + bias
