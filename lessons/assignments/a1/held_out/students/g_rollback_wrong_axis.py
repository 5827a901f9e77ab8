"""Cuts the first axis, that of the layers' heads, instead of the tokens'."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_wrong_axis"


def new_cache(params, n_head, capacity):
    return {"k": {}, "v": {}, "length": 0}


def store(cache, layer, keys, values):
    keys, values = keys.transpose(1, 0, 2), values.transpose(1, 0, 2)
    if layer in cache["k"]:
        keys = np.concatenate([cache["k"][layer], keys], axis=1)
        values = np.concatenate([cache["v"][layer], values], axis=1)
    cache["k"][layer], cache["v"][layer] = keys, values
    return keys.transpose(1, 0, 2), values.transpose(1, 0, 2)


def rollback(cache, length):
    for layer in cache["k"]:
        cache["k"][layer] = cache["k"][layer][:length]
        cache["v"][layer] = cache["v"][layer][:length]
    cache["length"] = min(length, cache["length"])
