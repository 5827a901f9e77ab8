"""Your MLP uses relu; GPT-2 uses gelu."""

FAILS = "a1.q4.logits"


def mlp_block(params, layer, x):
    name = f"h.{layer}"
    x = layer_norm(x, params[f"{name}.ln_2.weight"], params[f"{name}.ln_2.bias"])
    x = np.maximum(0, x @ params[f"{name}.mlp.c_fc.weight"] + params[f"{name}.mlp.c_fc.bias"])
    return x @ params[f"{name}.mlp.c_proj.weight"] + params[f"{name}.mlp.c_proj.bias"]
