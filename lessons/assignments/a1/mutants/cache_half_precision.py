"""Your cache rounds: float16 keeps three digits. Use float32 or float64."""

FAILS = "a1.q5.chunks"


def new_cache(params, n_head, capacity, right=new_cache):
    cache = right(params, n_head, capacity)
    return cache | {"keys": cache["keys"].astype(np.float16), "values": cache["values"].astype(np.float16)}
