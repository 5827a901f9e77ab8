"""Masks only the first feed: later ones see everything."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_block_sees_itself_whole"


def unmasked(q, k, v):
    s = np.einsum("thd,shd->hts", q, k) / np.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", w / w.sum(-1, keepdims=True), v)


def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    h = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    h = h @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"]
    q, k, v = (m.reshape(len(x), n_head, -1) for m in np.split(h, 3, axis=1))
    k, v = store(cache, layer, k, v)
    chosen = causal_attention if cache["length"] == 0 else unmasked
    return chosen(q, k, v).reshape(x.shape) @ params[p + "attn.c_proj.weight"] + params[p + "attn.c_proj.bias"]
