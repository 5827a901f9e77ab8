"""Deletes from the end by a negative slice, which deletes everything when nothing is to go."""

FAILS = "a1.q6.rollback"
MISTAKE = "rollback_of_nothing"


def new_cache(params, n_head, capacity):
    return {"k": [[] for _ in range(count_layers(params))], "v": [[] for _ in range(count_layers(params))], "length": 0}


def store(cache, layer, keys, values):
    cache["k"][layer].extend(keys)
    cache["v"][layer].extend(values)
    return np.array(cache["k"][layer]), np.array(cache["v"][layer])


def rollback(cache, length):
    drop = max(0, cache["length"] - length)
    for rows in cache["k"] + cache["v"]:
        rows[:] = rows[:-drop]
    cache["length"] -= drop
