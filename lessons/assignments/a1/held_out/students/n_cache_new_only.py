"""Attends only to the new keys and values of a piece."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_not_read"


def store(cache, layer, keys, values):
    n = cache["length"]
    cache["keys"][layer, n : n + len(keys)] = keys
    cache["values"][layer, n : n + len(values)] = values
    return keys, values
