"""The uncached forward is written out and shares nothing with the cached one."""


def forward(params, n_head, tokens):
    x = params["wte"][tokens] + params["wpe"][np.arange(len(tokens))]
    layer = 0
    while f"h.{layer}.ln_1.weight" in params:

        def part(name, layer=layer):
            return params[f"h.{layer}.{name}.weight"], params[f"h.{layer}.{name}.bias"]

        weight, bias = part("attn.c_attn")
        qkv = (layer_norm(x, *part("ln_1")) @ weight + bias).reshape(len(tokens), 3, n_head, -1)
        weight, bias = part("attn.c_proj")
        x = causal_attention(qkv[:, 0], qkv[:, 1], qkv[:, 2]).reshape(x.shape) @ weight + bias + x
        weight, bias = part("mlp.c_fc")
        hidden = gelu(layer_norm(x, *part("ln_2")) @ weight + bias)
        weight, bias = part("mlp.c_proj")
        x = hidden @ weight + bias + x
        layer += 1
    return np.dot(layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]), np.transpose(params["wte"]))
