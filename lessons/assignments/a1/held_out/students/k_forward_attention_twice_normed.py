"""Norms the attention's output once more before it is added."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_ends"


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        a = attention_block(params, i, x, n_head, cache)
        x = x + layer_norm(a, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"])
        x = x + mlp_block(params, i, x)
    cache["length"] += len(tokens)
    return unembed(params, x)
