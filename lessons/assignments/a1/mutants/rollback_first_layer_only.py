"""Only the first layer of your cache goes back; every layer must."""

FAILS = "a1.q6.rollback"


def new_cache(params, n_head, capacity):
    n_embd = params["wte"].shape[1]
    shape = (count_layers(params), 0, n_head, n_embd // n_head)
    return {"keys": list(np.zeros(shape)), "values": list(np.zeros(shape)), "length": 0}


def store(cache, layer, keys, values):
    cache["keys"][layer] = np.concatenate([cache["keys"][layer], keys])
    cache["values"][layer] = np.concatenate([cache["values"][layer], values])
    return cache["keys"][layer], cache["values"][layer]


def rollback(cache, length):
    cache["length"] = min(cache["length"], length)
    cache["keys"][0], cache["values"][0] = cache["keys"][0][:length], cache["values"][0][:length]
