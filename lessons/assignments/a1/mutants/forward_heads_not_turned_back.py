"""You reshape the heads' outputs from (H, T, D) to (T, C); turn them to (T, H, D) first."""

FAILS = "a1.q4.logits"


def attention_block(params, layer, x, n_head, cache):
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    keys, values = store(cache, layer, keys, values)
    heads = causal_attention(queries, keys, values).transpose(1, 0, 2).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
