"""The bias of the MLP's second matrix is missing."""

FAILS = "a1.q4.logits"


def mlp_block(params, layer, x):
    normed = layer_norm(x, params[f"h.{layer}.ln_2.weight"], params[f"h.{layer}.ln_2.bias"])
    hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
    return hidden @ params[f"h.{layer}.mlp.c_proj.weight"]
