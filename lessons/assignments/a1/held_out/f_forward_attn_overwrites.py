"""Attention's output replaces x, no residual."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_no_attention_residual"


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in range(count_layers(params)):
        x = attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] += len(tokens)
    return unembed(params, x)
