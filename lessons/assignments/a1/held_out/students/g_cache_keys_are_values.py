"""Keys and values are one and the same array, by a chained assignment."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_keys_are_the_values"


def new_cache(params, n_head, capacity):
    size = params["wte"].shape[1] // n_head
    keys = values = np.zeros((count_layers(params), capacity, n_head, size))
    return {"keys": keys, "values": values, "length": 0}
