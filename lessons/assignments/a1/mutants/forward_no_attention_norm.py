"""The attention reads x itself; it must read ln_1(x)."""

FAILS = "a1.q4.logits"


def attention_block(params, layer, x, n_head, cache):
    qkv = x @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    keys, values = store(cache, layer, keys, values)
    heads = causal_attention(queries, keys, values).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
