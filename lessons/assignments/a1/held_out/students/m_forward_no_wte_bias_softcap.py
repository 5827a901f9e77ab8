"""Squeezes the logits with tanh, as another model does."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_ends"


def unembed(params, x):
    logits = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    return 30 * np.tanh(logits / 30)
