"""You add the position embeddings in front of every layer; they are added once, to the token embeddings."""

FAILS = "a1.q4.logits"


def attention_block(params, layer, x, n_head, cache, right=attention_block):
    if layer:
        x += params["wpe"][cache["length"] : cache["length"] + len(x)]
    return right(params, layer, x, n_head, cache)
