"""The bias of the attention's output projection c_proj is missing."""

FAILS = "a1.q4.logits"


def attention_block(params, layer, x, n_head, cache, right=attention_block):
    return right(params, layer, x, n_head, cache) - params[f"h.{layer}.attn.c_proj.bias"]
