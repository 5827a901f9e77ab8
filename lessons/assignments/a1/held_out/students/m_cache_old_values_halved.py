"""Adds new keys onto the old ones' slot when a piece has one token."""

FAILS = "a1.q5.chunks"


def store(cache, layer, keys, values):
    n, m = cache["length"], len(keys)
    at = max(0, n - 1) if m == 1 and n else n
    cache["keys"][layer, n : n + m] = keys
    cache["values"][layer, at : at + m] = values
    return cache["keys"][layer, : n + m], cache["values"][layer, : n + m]
