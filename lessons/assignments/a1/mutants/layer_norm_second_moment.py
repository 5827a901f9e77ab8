"""Your variance is the mean of the squares; subtract the mean before you square."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    variance = (x**2).mean(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + EPSILON) * weight + bias
