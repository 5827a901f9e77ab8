"""x = mlp(x)."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_no_mlp_residual"

plus_mlp = mlp_block


def mlp_block(params, layer, x):
    return plus_mlp(params, layer, x) - x
