"""Copied ln_1 into the MLP."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_wrong_mlp_norm"


def mlp_block(params, layer, x):
    p = f"h.{layer}."
    a = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    a = gelu(a @ params[p + "mlp.c_fc.weight"] + params[p + "mlp.c_fc.bias"])
    return a @ params[p + "mlp.c_proj.weight"] + params[p + "mlp.c_proj.bias"]
