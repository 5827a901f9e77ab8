"""Divides by the length of the centred row, without the root of the number of channels."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_deviation"


def layer_norm(x, weight, bias):
    d = x - x.mean(1)[:, None]
    norms = np.linalg.norm(d, axis=1)[:, None]
    return d / np.sqrt(norms**2 + EPSILON) * weight + bias
