"""Reshaped to heads before the split into q, k and v."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_heads_split_first"


def attention_block(params, layer, x, n_head, cache):
    def p(n):
        return params[f"h.{layer}.{n}"]

    h = layer_norm(x, p("ln_1.weight"), p("ln_1.bias"))
    qkv = (h @ p("attn.c_attn.weight") + p("attn.c_attn.bias")).reshape(len(x), n_head, -1)
    q, k, v = np.split(qkv, 3, axis=2)
    k, v = store(cache, layer, k, v)
    return causal_attention(q, k, v).reshape(x.shape) @ p("attn.c_proj.weight") + p("attn.c_proj.bias")
