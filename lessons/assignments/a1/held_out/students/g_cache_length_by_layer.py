"""Advances the length inside the loop over the layers, once for each layer."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_length_grows_by_layer"


def new_cache(params, n_head, capacity):
    L, C = count_layers(params), params["wte"].shape[1]
    room = L * (capacity + 1)
    return {"k": np.zeros((L, room, n_head, C // n_head)), "v": np.zeros((L, room, n_head, C // n_head)), "n": 0}


def forward_cached(params, n_head, tokens, cache):
    x = params["wte"][tokens] + params["wpe"][np.arange(cache["n"], cache["n"] + len(tokens)) % len(params["wpe"])]
    T, C = x.shape
    for i in range(count_layers(params)):
        a = layer_norm(x, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"])
        q, k, v = np.split(a @ params[f"h.{i}.attn.c_attn.weight"] + params[f"h.{i}.attn.c_attn.bias"], 3, axis=1)
        n = cache["n"]
        cache["k"][i, n : n + T] = k.reshape(T, n_head, -1)
        cache["v"][i, n : n + T] = v.reshape(T, n_head, -1)
        o = causal_attention(q.reshape(T, n_head, -1), cache["k"][i, : n + T], cache["v"][i, : n + T]).reshape(T, C)
        x = x + o @ params[f"h.{i}.attn.c_proj.weight"] + params[f"h.{i}.attn.c_proj.bias"]
        x = x + mlp_block(params, i, x)
        cache["n"] += T
    return unembed(params, x)


def rollback(cache, length):
    cache["n"] = min(cache["n"], length)
