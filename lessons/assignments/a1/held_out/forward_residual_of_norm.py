"""Adds the attention to the normed x."""

FAILS = "a1.q4.logits"
MISTAKE = ""


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in range(count_layers(params)):
        normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
        x = normed + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] += len(tokens)
    return unembed(params, x)
