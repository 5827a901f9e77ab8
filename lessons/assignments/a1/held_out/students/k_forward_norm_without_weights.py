"""Uses the last norm without its weight and bias."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_ends"


def unembed(params, x):
    size = x.shape[-1]
    return np.matmul(layer_norm(x, np.ones(size), np.zeros(size)), params["wte"].transpose())
