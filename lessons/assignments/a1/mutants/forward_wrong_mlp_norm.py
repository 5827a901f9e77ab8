"""The MLP is normalised with ln_1; it has a norm of its own, ln_2."""

FAILS = "a1.q4.logits"


def mlp_block(params, layer, x):
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
    return hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"]
