"""Keeps the lists in a default argument, so all caches share them."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_shared"


class Memory:
    def __init__(self, layers, slots={}):
        self.slots = slots
        self.layers = layers
        self.length = 0


def new_cache(params, n_head, capacity):
    return Memory(count_layers(params))


def store(cache, layer, keys, values):
    old = cache.slots.get(layer)
    if old is not None:
        keys, values = np.concatenate([old[0], keys]), np.concatenate([old[1], values])
    cache.slots[layer] = (keys, values)
    return keys, values


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache.length)
    for layer in range(cache.layers):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache.length += len(tokens)
    return unembed(params, x)


def rollback(cache, length):
    if cache.length > length:
        cache.length = length
        for layer, (k, v) in list(cache.slots.items()):
            cache.slots[layer] = (k[:length], v[:length])
