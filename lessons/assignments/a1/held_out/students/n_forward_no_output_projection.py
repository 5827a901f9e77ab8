"""Leaves the attention's c_proj out."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_no_output_projection"


def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    a = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    qkv = a @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"]
    C = x.shape[1]
    q, k, v = qkv[:, :C], qkv[:, C : 2 * C], qkv[:, 2 * C :]
    k, v = store(cache, layer, k.reshape(-1, n_head, C // n_head), v.reshape(-1, n_head, C // n_head))
    return causal_attention(q.reshape(-1, n_head, C // n_head), k, v).reshape(-1, C)
