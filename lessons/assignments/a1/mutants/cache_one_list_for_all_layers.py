"""All layers add to one list: `[[]] * n` is one list n times over. Each layer has keys and values of its own."""

FAILS = "a1.q5.chunks"


def new_cache(params, n_head, capacity):
    return {"keys": [], "values": [], "length": 0}


def store(cache, layer, keys, values):
    cache["keys"] += list(keys)
    cache["values"] += list(values)
    return np.array(cache["keys"]), np.array(cache["values"])


def rollback(cache, length):
    if length < cache["length"]:
        del cache["keys"][length:], cache["values"][length:]
        cache["length"] = length
