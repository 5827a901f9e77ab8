"""You take one mean and one variance of the whole array; each row has its own."""

FAILS = "a1.q1.rows"


def layer_norm(x, weight, bias):
    return (x - x.mean()) / np.sqrt(x.var() + EPSILON) * weight + bias
