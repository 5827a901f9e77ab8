"""Your mean of each row has lost its axis, so it does not fit the rows any more: `keepdims=True` keeps it."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    return (x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + EPSILON) * weight + bias
