"""Counts the new tokens before it embeds them, so that positions are those after the piece."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_second_piece"


def forward_cached(params, n_head, tokens, cache):
    cache["total"] = cache.get("total", 0) + len(tokens)
    begin = cache["total"] if cache["length"] else 0
    x = embed(params, tokens, min(begin, len(params["wpe"]) - len(tokens)))
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


def rollback(cache, length):
    cache["length"] = cache["total"] = min(cache["length"], length)
