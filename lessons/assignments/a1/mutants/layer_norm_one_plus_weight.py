"""You scale by 1 + weight, as some other models do; GPT-2's weight is the whole factor."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    variance = x.var(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + EPSILON) * (1 + weight) + bias
