"""Positions begin one too far in later pieces."""

FAILS = "a1.q5.chunks"
MISTAKE = ""


def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start + (start > 0))
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] = start + len(tokens)
    return unembed(params, x)
