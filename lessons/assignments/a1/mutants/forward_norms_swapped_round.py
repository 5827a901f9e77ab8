"""You norm the sums, x = norm(x + attention(x)); GPT-2 norms what goes in: x = x + attention(norm(x))."""

FAILS = "a1.q4.logits"


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in range(count_layers(params)):
        part = {name: params[f"h.{layer}.{name}"] for name in ("ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias")}
        qkv = x @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
        queries, keys, values = (one.reshape(len(x), n_head, -1) for one in np.split(qkv, 3, axis=-1))
        heads = causal_attention(queries, *store(cache, layer, keys, values)).reshape(x.shape)
        x = x + heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
        x = layer_norm(x, part["ln_1.weight"], part["ln_1.bias"])
        hidden = gelu(x @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
        x = x + hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"]
        x = layer_norm(x, part["ln_2.weight"], part["ln_2.bias"])
    cache["length"] += len(tokens)
    return unembed(params, x)
