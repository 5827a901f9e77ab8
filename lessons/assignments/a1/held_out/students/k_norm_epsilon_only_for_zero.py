"""Uses epsilon only where the variance is exactly 0."""

FAILS = "a1.q1.small"


def layer_norm(x, weight, bias):
    out = []
    for row in np.asarray(x, dtype=float):
        var = np.var(row)
        if var == 0:
            var = EPSILON
        out.append((row - np.mean(row)) / np.sqrt(var))
    return np.array(out) * weight + bias
