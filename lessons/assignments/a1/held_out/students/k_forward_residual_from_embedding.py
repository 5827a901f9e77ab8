"""Adds each layer's output to the embeddings instead of to what the layers before made."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_attention"


def forward(params, n_head, tokens):
    x0 = params["wte"][tokens] + params["wpe"][: len(tokens)]
    x = x0
    cache = new_cache(params, n_head, len(tokens))
    for i in range(count_layers(params)):
        y = x + attention_block(params, i, x, n_head, cache)
        x = x0 + mlp_block(params, i, y)
    return unembed(params, x)
