"""Takes c_attn's columns to be keys, queries, values."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_keys_first"


def attention_block(params, layer, x, n_head, cache):
    C = x.shape[1]
    a = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    a = a @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    k, q, v = a[:, :C], a[:, C : 2 * C], a[:, 2 * C :]
    q, k, v = [m.reshape(len(x), n_head, C // n_head) for m in (q, k, v)]
    k, v = store(cache, layer, k, v)
    o = causal_attention(q, k, v).reshape(len(x), C)
    return o @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
