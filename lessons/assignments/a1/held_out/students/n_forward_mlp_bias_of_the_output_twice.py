"""Adds c_proj's bias to the residual once more after the MLP."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_mlp"


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        x += attention_block(params, i, x, n_head, cache)
        x += mlp_block(params, i, x) + params[f"h.{i}.mlp.c_proj.bias"]
    cache["length"] += len(tokens)
    return unembed(params, x)
