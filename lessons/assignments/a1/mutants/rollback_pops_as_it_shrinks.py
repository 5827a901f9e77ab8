"""You pop at a growing index from a list that shrinks: take from its end, or `del x[length:]`."""

FAILS = "a1.q6.rollback"


def new_cache(params, n_head, capacity):
    return {
        "keys": [[] for _ in range(count_layers(params))],
        "values": [[] for _ in range(count_layers(params))],
        "length": 0,
    }


def store(cache, layer, keys, values):
    cache["keys"][layer] += list(keys)
    cache["values"][layer] += list(values)
    return np.array(cache["keys"][layer]), np.array(cache["values"][layer])


def rollback(cache, length):
    for kept in cache["keys"] + cache["values"]:
        for i in range(length, len(kept)):
            kept.pop(i)
    cache["length"] = min(cache["length"], length)
