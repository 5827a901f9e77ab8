"""Its own attention in the cached forward masks as if the piece were the whole text."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_masked_top_left"


def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    a = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    qkv = a @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"]
    q, k, v = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    k, v = store(cache, layer, k, v)
    s = np.einsum("thd,shd->hts", q, k) / np.sqrt(q.shape[-1])
    s = np.where(np.tri(len(q), len(k)) > 0, s, -1e30)
    s = np.exp(s - s.max(-1, keepdims=True))
    y = np.einsum("hts,shd->thd", s / s.sum(-1, keepdims=True), v).reshape(x.shape)
    return y @ params[p + "attn.c_proj.weight"] + params[p + "attn.c_proj.bias"]
