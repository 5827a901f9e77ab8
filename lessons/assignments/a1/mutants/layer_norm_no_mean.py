"""You do not subtract the mean (that would be RMS norm)."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + EPSILON) * weight + bias
