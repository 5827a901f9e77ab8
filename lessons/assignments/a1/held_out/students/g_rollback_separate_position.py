"""Shortens keys and values, but not the counter its positions come from."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_forgets_positions"


def new_cache(params, n_head, capacity):
    empty = np.zeros((0, n_head, params["wte"].shape[1] // n_head))
    n = count_layers(params)
    return {"k": [empty] * n, "v": [empty] * n, "next": 0}


def store(cache, layer, keys, values):
    cache["k"][layer] = np.append(cache["k"][layer], keys, axis=0)
    cache["v"][layer] = np.append(cache["v"][layer], values, axis=0)
    return cache["k"][layer], cache["v"][layer]


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["next"])
    cache["next"] += len(tokens)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    return unembed(params, x)


def rollback(cache, length):
    cache["k"] = [k[:length] for k in cache["k"]]
    cache["v"] = [v[:length] for v in cache["v"]]
