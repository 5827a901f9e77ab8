"""Forgets the bias of the attention's output projection."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_without_projection_bias"


def attention_block(params, layer, x, n_head, cache):
    w = {name.split(f"h.{layer}.", 1)[1]: a for name, a in params.items() if name.startswith(f"h.{layer}.")}
    y = layer_norm(x, w["ln_1.weight"], w["ln_1.bias"]) @ w["attn.c_attn.weight"] + w["attn.c_attn.bias"]
    C = x.shape[1]
    split = [y[:, i * C : (i + 1) * C].reshape(-1, n_head, C // n_head) for i in range(3)]
    k, v = store(cache, layer, split[1], split[2])
    return causal_attention(split[0], k, v).reshape(-1, C) @ w["attn.c_proj.weight"]
