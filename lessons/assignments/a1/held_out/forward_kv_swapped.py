"""Unpacks q, v, k."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_keys_and_values_swapped"


def attention_block(params, layer, x, n_head, cache):
    h = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    h = h @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    C = x.shape[1]
    q, v, k = h[:, :C], h[:, C : 2 * C], h[:, 2 * C :]
    q, k, v = (a.reshape(len(x), n_head, C // n_head) for a in (q, k, v))
    k, v = store(cache, layer, k, v)
    out = causal_attention(q, k, v).reshape(len(x), C)
    return out @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
