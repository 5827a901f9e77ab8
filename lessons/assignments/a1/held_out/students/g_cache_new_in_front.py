"""Puts the new keys and values in front of the old ones."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_new_in_front"


class Cache:
    def __init__(self, layers):
        self.k, self.v = [None] * layers, [None] * layers

    def size(self):
        return 0 if self.k[0] is None else len(self.k[0])


def new_cache(params, n_head, capacity):
    return Cache(count_layers(params))


def store(cache, layer, keys, values):
    if cache.k[layer] is not None:
        keys = np.concatenate((keys, cache.k[layer]))
        values = np.concatenate((values, cache.v[layer]))
    cache.k[layer], cache.v[layer] = keys, values
    return keys, values


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache.size())
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    return unembed(params, x)


def rollback(cache, length):
    cache.k = [a if a is None else a[max(0, len(a) - length) :] for a in cache.k]
    cache.v = [a if a is None else a[max(0, len(a) - length) :] for a in cache.v]
