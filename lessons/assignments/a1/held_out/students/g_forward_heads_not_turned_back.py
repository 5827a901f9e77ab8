"""Reshapes the heads' outputs (H, T, D) to (T, C) without turning them back first."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_heads_not_turned_back"


def run_attention(params, i, x, n_head):
    T, C = x.shape
    qkv = x @ params[f"h.{i}.attn.c_attn.weight"] + params[f"h.{i}.attn.c_attn.bias"]
    q, k, v = np.split(qkv, 3, axis=1)
    out = causal_attention(q.reshape(T, n_head, -1), k.reshape(T, n_head, -1), v.reshape(T, n_head, -1))
    heads = np.stack([out[:, h] for h in range(n_head)])
    merged = heads.reshape(T, C)
    return merged @ params[f"h.{i}.attn.c_proj.weight"] + params[f"h.{i}.attn.c_proj.bias"]


def forward(params, n_head, tokens):
    x = params["wte"][list(tokens)] + params["wpe"][np.arange(len(tokens))]
    for i in range(count_layers(params)):
        x = x + run_attention(
            params, i, layer_norm(x, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"]), n_head
        )
        x = x + mlp_block(params, i, x)
    return unembed(params, x)
