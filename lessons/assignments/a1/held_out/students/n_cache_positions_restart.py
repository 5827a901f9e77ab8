"""Each piece's positions start at 0 again."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_positions_restart"


def forward_cached(params, n_head, tokens, cache):
    x = params["wte"][tokens] + params["wpe"][: len(tokens)]
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
    cache["length"] += len(tokens)
    return unembed(params, x)
