"""Keys and values are the same array, so one overwrites the other: `a = b = np.zeros(...)` makes one array with two names."""

FAILS = "a1.q5.chunks"


def store(cache, layer, keys, values):
    start, end = cache["length"], cache["length"] + len(keys)
    cache["keys"][layer, start:end] = values
    return cache["keys"][layer, :end], cache["keys"][layer, :end]
