"""You cut the wrong axis: what is shortened to `length` must be the tokens, not layers or heads."""

FAILS = "a1.q6.rollback"


def store(cache, layer, keys, values):
    kept = cache.setdefault("kept", {})
    old = kept.get(layer, (keys[:0], values[:0]))
    kept[layer] = tuple(np.concatenate([a, b]) for a, b in zip(old, (keys, values)))
    return kept[layer]


def rollback(cache, length):
    cache["kept"] = {n: tuple(a[:, :length] for a in pair) for n, pair in cache.get("kept", {}).items()}
    cache["length"] = min(cache["length"], length)
