"""You take epsilon for the smallest deviation allowed; it is added to the variance of every row: sqrt(variance + epsilon)."""

FAILS = "a1.q1.small"


def layer_norm(x, weight, bias):
    deviation = np.maximum(x.std(axis=-1, keepdims=True), EPSILON)
    return (x - x.mean(axis=-1, keepdims=True)) / deviation * weight + bias
