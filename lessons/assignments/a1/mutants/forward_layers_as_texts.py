"""You read the layers in the order of their names as texts, where h.10 comes before h.2."""

FAILS = "a1.q4.logits"


def forward(params, n_head, tokens):
    cache, x = new_cache(params, n_head, len(tokens)), embed(params, tokens, 0)
    for layer in sorted(range(count_layers(params)), key=str):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    return unembed(params, x)
