"""epsilon is 1e-3."""

FAILS = "a1.q1.small"
MISTAKE = ""


def layer_norm(x, weight, bias):
    mu, sigma2 = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return weight * (x - mu) / np.sqrt(sigma2 + 1e-3) + bias
