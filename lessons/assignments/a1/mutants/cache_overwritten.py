"""Each feed overwrites the cache from slot 0; new keys and values go behind the old ones."""

FAILS = "a1.q5.chunks"


def store(cache, layer, keys, values):
    start, end = cache["length"], cache["length"] + len(keys)
    cache["keys"][layer, : len(keys)] = keys
    cache["values"][layer, : len(keys)] = values
    return cache["keys"][layer, :end], cache["values"][layer, :end]
