"""Keys of earlier tokens are there, but not their values: both belong into the cache."""

FAILS = "a1.q5.chunks"


def store(cache, layer, keys, values):
    start, end = cache["length"], cache["length"] + len(keys)
    cache["keys"][layer, start:end] = keys
    cache["values"][layer, :start] = 0.0
    cache["values"][layer, start:end] = values
    return cache["keys"][layer, :end], cache["values"][layer, :end]
