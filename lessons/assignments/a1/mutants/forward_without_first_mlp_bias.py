"""The bias of the MLP's first matrix is missing."""

FAILS = "a1.q4.logits"


def mlp_block(params, layer, x):
    normed = layer_norm(x, params[f"h.{layer}.ln_2.weight"], params[f"h.{layer}.ln_2.bias"])
    hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"])
    return hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"]
