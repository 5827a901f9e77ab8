"""Takes the mean by row, but the variance over the whole array."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_deviation"


def layer_norm(x, weight, bias):
    centred = np.array([row - row.mean() for row in x])
    return centred / np.sqrt(np.var(centred) + EPSILON) * weight + bias
