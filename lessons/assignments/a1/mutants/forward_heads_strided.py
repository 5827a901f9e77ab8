"""Your heads take every H-th channel; head h owns the D channels from h D on."""

FAILS = "a1.q4.logits"


def attention_block(params, layer, x, n_head, cache):
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(x), -1, n_head).transpose(0, 2, 1) for part in np.split(qkv, 3, axis=-1))
    keys, values = store(cache, layer, keys, values)
    heads = causal_attention(queries, keys, values).transpose(0, 2, 1).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
