"""All layers share one list, by multiplying a list of lists."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_one_list_for_all_layers"
ALSO = ("cache_one_layer",)


def new_cache(params, n_head, capacity):
    return {"keys": [[]] * count_layers(params), "values": [[]] * count_layers(params), "length": 0}


def store(cache, layer, keys, values):
    cache["keys"][layer].extend(keys)
    cache["values"][layer].extend(values)
    return np.array(cache["keys"][layer]), np.array(cache["values"][layer])


def rollback(cache, length):
    if length < cache["length"]:
        cache["length"] = length
        for kept in cache["keys"] + cache["values"]:
            del kept[length:]
