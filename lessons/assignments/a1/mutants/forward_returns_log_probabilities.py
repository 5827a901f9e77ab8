"""You return logarithms of probabilities; the logits are what comes before the softmax."""

FAILS = "a1.q4.logits"


def unembed(params, x):
    logits = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
