"""Feeds the MLP with x itself; ln_2 is never used."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_no_mlp_norm"


def mlp_block(params, layer, x):
    w1, b1 = params[f"h.{layer}.mlp.c_fc.weight"], params[f"h.{layer}.mlp.c_fc.bias"]
    w2, b2 = params[f"h.{layer}.mlp.c_proj.weight"], params[f"h.{layer}.mlp.c_proj.bias"]
    return np.dot(gelu(np.dot(x, w1) + b1), w2) + b2
