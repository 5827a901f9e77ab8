"""You return probabilities; the logits are what comes before the softmax."""

FAILS = "a1.q4.logits"


def unembed(params, x):
    logits = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
