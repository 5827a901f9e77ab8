"""Forgets the last norm and normalises by ln_2 of the last layer again."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_ends"


def unembed(params, x):
    last = count_layers(params) - 1
    x = layer_norm(x, params[f"h.{last}.ln_2.weight"], params[f"h.{last}.ln_2.bias"])
    return x @ params["wte"].T
