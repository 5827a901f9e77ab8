"""Adds the MLP's input once more."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_mlp"


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        y = x + mlp_block(params, i, x)
        x = x + y
    cache["length"] += len(tokens)
    return unembed(params, x)
