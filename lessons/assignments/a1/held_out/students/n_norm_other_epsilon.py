"""Writes 1e-2 for epsilon instead of the constant given."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_deviation"


def layer_norm(x, weight, bias):
    d = x - x.mean(axis=1, keepdims=True)
    return d / (np.mean(d**2, axis=1, keepdims=True) + 1e-2) ** 0.5 * weight + bias
