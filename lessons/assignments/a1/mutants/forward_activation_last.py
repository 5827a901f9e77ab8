"""Your gelu comes after the MLP's second matrix; it stands between the two."""

FAILS = "a1.q4.logits"


def mlp_block(params, layer, x):
    normed = layer_norm(x, params[f"h.{layer}.ln_2.weight"], params[f"h.{layer}.ln_2.bias"])
    hidden = normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"]
    return gelu(hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"])
