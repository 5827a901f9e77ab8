"""Takes the length for the index of the last token kept."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_one_too_many"


def new_cache(params, n_head, capacity):
    return {"k": {}, "v": {}, "length": 0}


def store(cache, layer, keys, values):
    for name, new in (("k", keys), ("v", values)):
        old = cache[name].get(layer)
        cache[name][layer] = new if old is None else np.vstack([old, new])
    return cache["k"][layer], cache["v"][layer]


def rollback(cache, length):
    end = length + 1
    if end < cache["length"]:
        for name in ("k", "v"):
            cache[name] = {layer: a[:end] for layer, a in cache[name].items()}
        cache["length"] = end
