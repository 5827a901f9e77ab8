"""Divided by the variance."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_variance_not_rooted"


def layer_norm(x, weight, bias):
    out = np.empty_like(x, dtype=float)
    for i, row in enumerate(x):
        out[i] = (row - row.mean()) / (row.var() + 1e-5) * weight + bias
    return out
