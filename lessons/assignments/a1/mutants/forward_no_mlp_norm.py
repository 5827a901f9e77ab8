"""The MLP reads x itself; it must read ln_2(x)."""

FAILS = "a1.q4.logits"


def mlp_block(params, layer, x):
    hidden = gelu(x @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
    return hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"]
