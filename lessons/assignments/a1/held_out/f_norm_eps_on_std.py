"""Epsilon is added to the standard deviation."""

FAILS = "a1.q1.small"
MISTAKE = "layer_norm_epsilon_outside"


def layer_norm(x, weight, bias):
    mu = np.mean(x, axis=1)[:, None]
    return weight * ((x - mu) / (np.std(x, axis=1)[:, None] + 1e-5)) + bias
