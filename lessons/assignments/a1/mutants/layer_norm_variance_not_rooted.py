"""You divide by the variance; divide by its root."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    mean, variance = np.mean(x, -1, keepdims=True), np.var(x, -1, keepdims=True)
    return weight * ((x - mean) / (variance + EPSILON)) + bias
