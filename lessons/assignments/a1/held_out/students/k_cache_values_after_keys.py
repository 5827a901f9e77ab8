"""Stores the keys where the values belong and the other way round."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_second_piece"


def store(cache, layer, keys, values):
    n, m = cache["length"], len(keys)
    cache["values"][layer, n : n + m], cache["keys"][layer, n : n + m] = keys, values
    old_k, old_v = cache["keys"][layer, :n], cache["values"][layer, :n]
    return np.concatenate([old_k, keys]), np.concatenate([old_v, values])
