"""Your length grows by 1 per feed; it must grow by the number of tokens fed."""

FAILS = "a1.q5.chunks"


def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] = start + 1
    return unembed(params, x)
