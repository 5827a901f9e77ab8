"""Reads c_attn's weights from layer 0 always."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_layers"


def attention_block(params, layer, x, n_head, cache):
    y = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    y = y @ params["h.0.attn.c_attn.weight"] + params["h.0.attn.c_attn.bias"]
    q, k, v = (part.reshape(len(x), n_head, -1) for part in np.split(y, 3, axis=1))
    k, v = store(cache, layer, k, v)
    z = causal_attention(q, k, v).reshape(len(x), -1)
    return z @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
