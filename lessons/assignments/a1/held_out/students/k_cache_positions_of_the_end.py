"""Reads the position after the new tokens have been counted."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_second_piece"


def forward_cached(params, n_head, tokens, cache):
    before = cache["length"]
    seen = cache.setdefault("seen", [])
    del seen[before:]
    seen.extend(tokens)
    x = embed(params, tokens, min(len(seen), len(params["wpe"]) - len(tokens)) if before else 0)
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
    cache["length"] = len(seen)
    return unembed(params, x)
