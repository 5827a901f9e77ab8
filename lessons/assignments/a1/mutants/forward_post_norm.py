"""You norm after each addition; GPT-2 norms what goes into the attention and the MLP, x + attention(norm(x))."""

FAILS = "a1.q4.logits"


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in range(count_layers(params)):
        unit = {f"h.{layer}.ln_1.weight": np.ones(x.shape[1]), f"h.{layer}.ln_1.bias": np.zeros(x.shape[1])}
        attended = x + attention_block(params | unit, layer, x, n_head, cache)
        x = layer_norm(attended, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
        x = layer_norm(
            x + mlp_block(params, layer, x), params[f"h.{layer}.ln_2.weight"], params[f"h.{layer}.ln_2.bias"]
        )
    cache["length"] += len(tokens)
    return unembed(params, x)
