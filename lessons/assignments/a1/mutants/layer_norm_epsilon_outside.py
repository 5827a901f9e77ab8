"""You add epsilon to the standard deviation; it belongs inside the root: sqrt(variance + epsilon)."""

FAILS = "a1.q1.small"


def layer_norm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True))
    return (x - mean) / (deviation + EPSILON) * weight + bias
