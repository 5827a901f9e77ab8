"""Your MLP reads the input of the layer; it must read what the attention left: two steps, one after the other."""

FAILS = "a1.q4.logits"


def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache) + mlp_block(params, layer, x)
    cache["length"] = start + len(tokens)
    return unembed(params, x)
