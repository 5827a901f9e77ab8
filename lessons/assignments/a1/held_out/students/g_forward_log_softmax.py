"""Returns the logarithms of the probabilities."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_returns_log_probabilities"


def unembed(params, x):
    logits = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
