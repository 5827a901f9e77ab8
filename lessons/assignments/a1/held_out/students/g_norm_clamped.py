"""Clamps the deviation to epsilon instead of adding epsilon to the variance."""

FAILS = "a1.q1.small"
MISTAKE = "layer_norm_epsilon_as_floor"


def layer_norm(x, weight, bias):
    mu = np.mean(x, axis=1, keepdims=True)
    sigma = np.maximum(np.std(x, axis=1, keepdims=True), EPSILON)
    return weight * (x - mu) / sigma + bias
