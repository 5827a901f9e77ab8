"""Your cache cuts numbers to whole ones: its arrays have an integer dtype."""

FAILS = "a1.q5.chunks"


def new_cache(params, n_head, capacity, right=new_cache):
    cache = right(params, n_head, capacity)
    return cache | {"keys": cache["keys"].astype(np.int64), "values": cache["values"].astype(np.int64)}
