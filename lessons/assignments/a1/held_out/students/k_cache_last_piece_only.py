"""Keeps only the piece before, not all of them."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_third_piece"


def new_cache(params, n_head, capacity):
    return {"previous": {}, "length": 0}


def store(cache, layer, keys, values):
    old = cache["previous"].get(layer)
    cache["previous"][layer] = (keys, values)
    if old is None:
        return keys, values
    return np.concatenate([old[0], keys]), np.concatenate([old[1], values])


def rollback(cache, length):
    extra = cache["length"] - length
    if extra > 0:
        cache["previous"] = {n: (k[:-extra], v[:-extra]) for n, (k, v) in cache["previous"].items()}
        cache["length"] = length
