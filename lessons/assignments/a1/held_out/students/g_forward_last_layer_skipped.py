"""Counts the layers by the largest index, one too few, so the last layer is never run."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_without_last_layer"


def count_layers(params):
    return max(int(name.split(".")[1]) for name in params if name.startswith("h."))


def forward(params, n_head, tokens):
    x = params["wte"][tokens] + params["wpe"][: len(tokens)]
    T, C = x.shape
    for i in range(count_layers(params)):

        def p(name, i=i):
            return params[f"h.{i}.{name}"]

        a = layer_norm(x, p("ln_1.weight"), p("ln_1.bias")) @ p("attn.c_attn.weight") + p("attn.c_attn.bias")
        q, k, v = a[:, :C], a[:, C : 2 * C], a[:, 2 * C :]
        q, k, v = (m.reshape(T, n_head, C // n_head) for m in (q, k, v))
        x = x + causal_attention(q, k, v).reshape(T, C) @ p("attn.c_proj.weight") + p("attn.c_proj.bias")
        h = gelu(layer_norm(x, p("ln_2.weight"), p("ln_2.bias")) @ p("mlp.c_fc.weight") + p("mlp.c_fc.bias"))
        x = x + h @ p("mlp.c_proj.weight") + p("mlp.c_proj.bias")
    return layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
