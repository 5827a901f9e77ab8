"""Counts pieces, not tokens, for the positions."""

FAILS = "a1.q5.chunks"


def forward_cached(params, n_head, tokens, cache):
    pieces = cache.get("pieces", 0)
    x = embed(params, tokens, pieces)
    cache["pieces"] = pieces + 1
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


def rollback(cache, length):
    cache["length"] = min(cache["length"], length)
    cache["pieces"] = min(cache.get("pieces", 0), length)
