"""Your variance divides by C - 1; layer norm divides by C."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, ddof=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + EPSILON) * weight + bias
