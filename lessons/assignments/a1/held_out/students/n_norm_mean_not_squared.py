"""Computes the variance as mean of squares minus mean, the mean unsquared."""

FAILS = "a1.q1.rows"
MISTAKE = "norm_deviation"


def layer_norm(x, weight, bias):
    out = np.empty(x.shape)
    for i, row in enumerate(x):
        mean = row.sum() / len(row)
        var = (row * row).sum() / len(row) - mean
        out[i] = (row - mean) / np.sqrt(abs(var) + EPSILON) * weight + bias
    return out
