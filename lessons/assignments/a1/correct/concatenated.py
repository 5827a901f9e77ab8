"""A cache that grows by concatenation and goes back by slicing."""


def new_cache(params, n_head, capacity):
    return {"layers": [None] * count_layers(params), "length": 0}


def store(cache, layer, keys, values):
    old = cache["layers"][layer]
    if old is not None:
        keys, values = np.concatenate([old[0], keys]), np.concatenate([old[1], values])
    cache["layers"][layer] = keys, values
    return keys, values


def rollback(cache, length):
    cache["layers"] = [layer and (layer[0][:length], layer[1][:length]) for layer in cache["layers"]]
    cache["length"] = min(cache["length"], length)
