"""You divide without epsilon: a row of equal numbers has variance 0."""

FAILS = "a1.q1.small"


def layer_norm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        return (x - mean) / np.sqrt(variance) * weight + bias
