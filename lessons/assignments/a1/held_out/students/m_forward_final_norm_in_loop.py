"""Applies the last norm after each layer."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_layers"


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
        x = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"])
    cache["length"] += len(tokens)
    return x @ params["wte"].T
