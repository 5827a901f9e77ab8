"""You normalise over the tokens (axis 0); each token is normalised over its own channels (axis -1)."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    mean = x.mean(axis=0, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=0, keepdims=True)
    return (x - mean) / np.sqrt(variance + EPSILON) * weight + bias
