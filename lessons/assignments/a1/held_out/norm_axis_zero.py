"""axis=0 everywhere."""

FAILS = "a1.q1.rows"
MISTAKE = "layer_norm_over_tokens"


def layer_norm(x, weight, bias):
    return weight * (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + 1e-5) + bias
