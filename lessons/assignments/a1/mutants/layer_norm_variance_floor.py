"""You take epsilon for the smallest variance allowed; it is added to the variance of every row: sqrt(variance + epsilon)."""

FAILS = "a1.q1.small"


def layer_norm(x, weight, bias):
    variance = np.maximum(x.var(axis=-1, keepdims=True), EPSILON)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance) * weight + bias
