"""MLP without its norm."""

FAILS = "a1.q4.logits"
MISTAKE = ""


def mlp_block(params, layer, x):
    def p(n):
        return params[f"h.{layer}.mlp.{n}"]

    return gelu(x @ p("c_fc.weight") + p("c_fc.bias")) @ p("c_proj.weight") + p("c_proj.bias")
