"""Keeps the layers' inputs and computes the keys and values of all of them again at each feed."""

FAILS = "a1.q5.once"
MISTAKE = "cache_keeps_the_inputs"


def new_cache(params, n_head, capacity):
    return {"inputs": [None] * count_layers(params), "length": 0}


def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    h = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    old = cache["inputs"][layer]
    seen = h if old is None else np.vstack([old[: cache["length"]], h])
    cache["inputs"][layer] = seen
    q, k, v = np.split(seen @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"], 3, axis=1)
    q = q[-len(x) :]
    q, k, v = (m.reshape(len(m), n_head, -1) for m in (q, k, v))
    return (
        causal_attention(q, k, v).reshape(x.shape) @ params[p + "attn.c_proj.weight"] + params[p + "attn.c_proj.bias"]
    )
