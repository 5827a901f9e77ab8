"""The bias of c_attn is missing."""

FAILS = "a1.q4.logits"


def attention_block(params, layer, x, n_head, cache):
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    queries, keys, values = np.split(normed @ params[f"h.{layer}.attn.c_attn.weight"], 3, axis=1)
    queries, keys, values = (a.reshape(len(x), n_head, -1) for a in (queries, keys, values))
    keys, values = store(cache, layer, keys, values)
    heads = causal_attention(queries, keys, values).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
