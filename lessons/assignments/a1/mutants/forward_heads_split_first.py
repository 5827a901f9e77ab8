"""You split c_attn's output by heads before splitting it into q, k and v; the three come first, C columns each."""

FAILS = "a1.q4.logits"


def attention_block(params, layer, x, n_head, cache):
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = np.moveaxis(qkv.reshape(len(x), n_head, 3, -1), 2, 0)
    keys, values = store(cache, layer, keys, values)
    heads = causal_attention(queries, keys, values).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
