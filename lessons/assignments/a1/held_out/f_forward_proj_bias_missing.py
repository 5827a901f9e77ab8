"""The bias of the attention's output is missing."""

FAILS = "a1.q4.logits"
MISTAKE = ""


def attention_block(params, layer, x, n_head, cache):
    def p(n):
        return params[f"h.{layer}.{n}"]

    h = layer_norm(x, p("ln_1.weight"), p("ln_1.bias"))
    q, k, v = (
        a.reshape(len(x), n_head, -1) for a in np.split(h @ p("attn.c_attn.weight") + p("attn.c_attn.bias"), 3, axis=1)
    )
    k, v = store(cache, layer, k, v)
    return causal_attention(q, k, v).reshape(x.shape) @ p("attn.c_proj.weight")
