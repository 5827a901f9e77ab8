"""Within a feed of several tokens the early ones see the later ones: the new block needs its causal mask too."""

FAILS = "a1.q5.chunks"

right_attention = causal_attention


def attention_block(params, layer, x, n_head, cache):
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    fresh = cache["length"] == 0
    keys, values = store(cache, layer, keys, values)
    if fresh:
        heads = right_attention(queries, keys, values)
    else:
        heads = np.concatenate([right_attention(query[None], keys, values) for query in queries])
    return heads.reshape(x.shape) @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
