"""Runs the layers from the last to the first."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_layers"


def forward(params, n_head, tokens):
    cache = new_cache(params, n_head, len(tokens))
    h = embed(params, tokens, 0)
    layer = count_layers(params)
    while layer > 0:
        layer -= 1
        h = h + attention_block(params, layer, h, n_head, cache)
        h = h + mlp_block(params, layer, h)
    return unembed(params, h)
