"""Keeps keys and values in half precision."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_half_precision"


def new_cache(params, n_head, capacity):
    d = params["wte"].shape[1] // n_head
    shape = (count_layers(params), capacity, n_head, d)
    return {"keys": np.empty(shape, dtype=np.float16), "values": np.empty(shape, dtype=np.float16), "length": 0}
