"""Subtracts the mean in place, so the caller's array is changed."""

FAILS = "a1.q1.rows"
MISTAKE = "changes_its_arguments"


def layer_norm(x, weight, bias):
    x -= np.mean(x, axis=-1, keepdims=True)
    x /= np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON)
    return x * weight + bias
