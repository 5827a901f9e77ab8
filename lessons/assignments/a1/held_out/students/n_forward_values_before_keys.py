"""Splits c_attn into q, v, k."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_keys_and_values_swapped"


def attention_block(params, layer, x, n_head, cache):
    w = {n: params[f"h.{layer}.{n}"] for n in ("ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias")}
    a = layer_norm(x, w["ln_1.weight"], w["ln_1.bias"]) @ w["attn.c_attn.weight"] + w["attn.c_attn.bias"]
    q, v, k = (part.reshape(len(x), n_head, -1) for part in np.split(a, 3, axis=-1))
    k, v = store(cache, layer, k, v)
    y = causal_attention(q, k, v).reshape(x.shape)
    return y @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
