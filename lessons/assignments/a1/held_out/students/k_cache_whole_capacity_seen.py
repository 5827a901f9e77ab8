"""Attends to the empty slots of the cache, too, when a feed has one token."""

FAILS = "a1.q5.chunks"


def store(cache, layer, keys, values):
    n = cache["length"]
    cache["keys"][layer, n : n + len(keys)] = keys
    cache["values"][layer, n : n + len(keys)] = values
    if len(keys) == 1:
        return cache["keys"][layer], cache["values"][layer]
    return cache["keys"][layer, : n + len(keys)], cache["values"][layer, : n + len(keys)]
