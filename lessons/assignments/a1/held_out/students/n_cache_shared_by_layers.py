"""Keeps one array of keys and values for all layers."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_one_layer"


def store(cache, layer, keys, values):
    n = cache["length"]
    m = n + len(keys)
    cache["keys"][0, n:m] = keys
    cache["values"][0, n:m] = values
    return cache["keys"][0, :m], cache["values"][0, :m]
