"""You put the new keys and values in front of the old ones; they go behind them."""

FAILS = "a1.q5.chunks"


def store(cache, layer, keys, values):
    start, end = cache["length"], cache["length"] + len(keys)
    for name, new in (("keys", keys), ("values", values)):
        cache[name][layer, :end] = np.concatenate([new, cache[name][layer, :start]])
    return cache["keys"][layer, :end], cache["values"][layer, :end]
