"""Adds epsilon to the standard deviation, not to the variance."""

FAILS = "a1.q1.small"
MISTAKE = "layer_norm_epsilon_outside"


def layer_norm(x, weight, bias):
    mu = np.mean(x, axis=1)[:, None]
    sigma = np.std(x, axis=1)[:, None]
    return weight * ((x - mu) / (sigma + EPSILON)) + bias
