"""Every layer of yours uses the weights of layer 0."""

FAILS = "a1.q4.logits"

right_attention_block, right_mlp_block = attention_block, mlp_block


def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start)
    for layer in range(count_layers(params)):
        shared = {
            name.replace("h.0.", f"h.{layer}."): array for name, array in params.items() if name.startswith("h.0.")
        }
        x = x + right_attention_block(shared, layer, x, n_head, cache)
        x = x + right_mlp_block(shared, layer, x)
    cache["length"] = start + len(tokens)
    return unembed(params, x)
