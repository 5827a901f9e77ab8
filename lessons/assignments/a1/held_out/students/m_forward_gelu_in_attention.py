"""Applies gelu to the attention's output."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_attention"


def attention_block(params, layer, x, n_head, cache):
    p = {k[len(f"h.{layer}.") :]: v for k, v in params.items() if k.startswith(f"h.{layer}.")}
    y = layer_norm(x, p["ln_1.weight"], p["ln_1.bias"]) @ p["attn.c_attn.weight"] + p["attn.c_attn.bias"]
    q, k, v = (part.reshape(len(x), n_head, -1) for part in np.split(y, 3, axis=1))
    k, v = store(cache, layer, k, v)
    z = causal_attention(q, k, v).reshape(len(x), -1)
    return gelu(z @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"])
