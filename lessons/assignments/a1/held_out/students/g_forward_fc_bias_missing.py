"""Forgets the bias of the MLP's first matrix."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_without_first_mlp_bias"


def mlp_block(params, layer, x):
    def get(name):
        return params["h." + str(layer) + "." + name]

    y = layer_norm(x, get("ln_2.weight"), get("ln_2.bias"))
    y = gelu(y @ get("mlp.c_fc.weight"))
    return y @ get("mlp.c_proj.weight") + get("mlp.c_proj.bias")
