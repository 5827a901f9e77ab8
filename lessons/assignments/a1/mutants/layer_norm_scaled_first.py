"""You scale and shift before normalising, which undoes it; scale and shift the normalised row."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    x = x * weight + bias
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)
