"""Takes the mean of the squares for the variance, without subtracting the mean."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_second_moment"


def layer_norm(x, weight, bias):
    n = x.shape[-1]
    mean = np.sum(x, axis=-1)[:, None] / n
    var = np.sum(x**2, axis=-1)[:, None] / n
    return weight * ((x - mean) / np.sqrt(var + EPSILON)) + bias
