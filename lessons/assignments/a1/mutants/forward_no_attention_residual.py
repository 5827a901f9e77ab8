"""The residual connection around the attention is missing: x + attention(norm(x))."""

FAILS = "a1.q4.logits"


def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start)
    for layer in range(count_layers(params)):
        x = attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] = start + len(tokens)
    return unembed(params, x)
