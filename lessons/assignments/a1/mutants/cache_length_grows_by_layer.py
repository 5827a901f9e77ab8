"""Your length grows in every layer; it grows once for a feed, when all layers are through."""

FAILS = "a1.q5.chunks"


def new_cache(params, n_head, capacity, right=new_cache):
    return right(params, n_head, capacity * (count_layers(params) + 1))


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"] % 48)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
        cache["length"] += len(tokens)
    return unembed(params, x)
