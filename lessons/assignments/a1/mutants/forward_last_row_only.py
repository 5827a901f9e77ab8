"""You return only the logits after the last token; all T rows are wanted."""

FAILS = "a1.q4.logits"


def unembed(params, x):
    return (layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T)[-1]
