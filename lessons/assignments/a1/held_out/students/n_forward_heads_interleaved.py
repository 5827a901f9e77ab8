"""Takes c_attn's columns head by head, q k v of each: the shape is (T, H, 3, D)."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_heads_split_first"


def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    a = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    qkv = (a @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"]).reshape(len(x), n_head, 3, -1)
    k, v = store(cache, layer, qkv[:, :, 1], qkv[:, :, 2])
    y = causal_attention(qkv[:, :, 0], k, v).reshape(x.shape)
    return y @ params[p + "attn.c_proj.weight"] + params[p + "attn.c_proj.bias"]
