"""Your caches share their arrays: what is fed to one overwrites another. Each new cache needs arrays of its own."""

FAILS = "a1.q5.chunks"

arrays = {}


def new_cache(params, n_head, capacity):
    shape = (count_layers(params), 64, n_head, params["wte"].shape[1] // n_head)
    if shape not in arrays:
        arrays[shape] = np.zeros(shape), np.zeros(shape)
    keys, values = arrays[shape]
    return {"keys": keys, "values": values, "length": 0}
