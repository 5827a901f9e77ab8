"""Goes through the layers but the last, which keeps its tokens."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_first_layer_only"


def new_cache(params, n_head, capacity):
    return {"layers": [{"k": [], "v": []} for _ in range(count_layers(params))], "length": 0}


def store(cache, layer, keys, values):
    slot = cache["layers"][layer]
    slot["k"] += list(keys)
    slot["v"] += list(values)
    return np.stack(slot["k"]), np.stack(slot["v"])


def rollback(cache, length):
    if length >= cache["length"]:
        return
    for i in range(len(cache["layers"]) - 1):
        cache["layers"][i]["k"] = cache["layers"][i]["k"][:length]
        cache["layers"][i]["v"] = cache["layers"][i]["v"][:length]
    cache["length"] = length
