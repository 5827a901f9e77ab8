"""Adds the position embeddings again in front of each layer."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_positions_in_each_layer"


def forward_cached(params, n_head, tokens, cache):
    first = cache["length"]
    where = params["wpe"][first : first + len(tokens)]
    x = params["wte"][np.array(tokens, dtype=int)]
    for n in range(count_layers(params)):
        x = x + where
        x = x + attention_block(params, n, x, n_head, cache)
        x = x + mlp_block(params, n, x)
    cache["length"] += len(tokens)
    return unembed(params, x)
