"""std without epsilon."""

FAILS = "a1.q1.small"
MISTAKE = "layer_norm_no_epsilon"


def layer_norm(x, weight, bias):
    with np.errstate(invalid="ignore", divide="ignore"):
        normal = (x - x.mean(1)[:, np.newaxis]) / x.std(1)[:, np.newaxis]
    return normal * weight + bias
