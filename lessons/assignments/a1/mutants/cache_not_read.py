"""Your attention sees only the tokens of the present feed, not the keys and values in the cache."""

FAILS = "a1.q5.chunks"


def store(cache, layer, keys, values):
    return keys, values
