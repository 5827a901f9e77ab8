"""With a filled cache your mask still begins at the first key: query t of T is token S - T + t."""

FAILS = "a1.q5.chunks"


def attention_block(params, layer, x, n_head, cache):
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    keys, values = store(cache, layer, keys, values)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    heads = np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), values).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
