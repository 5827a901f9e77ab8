"""Keeps a list of pieces and joins them from the newest to the oldest once there are more than two."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_third_piece"


def new_cache(params, n_head, capacity):
    return {"pieces": [[] for _ in range(count_layers(params))], "length": 0}


def store(cache, layer, keys, values):
    cache["pieces"][layer].append((keys, values))
    pieces = cache["pieces"][layer]
    if len(pieces) > 2:
        pieces = [pieces[-2], *pieces[:-2], pieces[-1]]
        pieces = pieces[1:-1] + [pieces[-1]]
    return np.concatenate([k for k, _ in pieces]), np.concatenate([v for _, v in pieces])
