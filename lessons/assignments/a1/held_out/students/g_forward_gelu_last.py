"""Applies gelu to the output of the MLP's second matrix instead of the first's."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_activation_last"


def mlp_block(params, layer, x):
    pre = f"h.{layer}."
    h = layer_norm(x, params[pre + "ln_2.weight"], params[pre + "ln_2.bias"])
    h = h @ params[pre + "mlp.c_fc.weight"] + params[pre + "mlp.c_fc.bias"]
    h = h @ params[pre + "mlp.c_proj.weight"] + params[pre + "mlp.c_proj.bias"]
    return gelu(h)
