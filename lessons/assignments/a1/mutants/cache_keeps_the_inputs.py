"""You keep what the keys and values are made of, and make them again at each feed; keep the keys and values themselves."""

FAILS = "a1.q5.once"


def attention_block(params, layer, x, n_head, cache):
    kept, start = cache.setdefault("inputs", {}), cache["length"]
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    kept[layer] = np.concatenate([kept.get(layer, normed)[:start], normed])
    qkv = kept[layer] @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(qkv), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    heads = causal_attention(queries[start:], keys, values).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
