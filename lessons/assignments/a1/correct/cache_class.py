"""The cache is a class that knows how to store and go back."""


class Cache:
    def __init__(self, n_layer, capacity, n_head, head_size):
        self.pairs = np.full((n_layer, 2, n_head, capacity, head_size), np.nan)
        self.lengths = [0] * n_layer

    def extend(self, layer, keys, values):
        start, end = self.lengths[layer], self.lengths[layer] + len(keys)
        self.pairs[layer, 0, :, start:end] = keys.swapaxes(0, 1)
        self.pairs[layer, 1, :, start:end] = values.swapaxes(0, 1)
        self.lengths[layer] = end
        return self.pairs[layer, :, :, :end].swapaxes(1, 2)

    def go_back(self, length):
        self.lengths = [min(length, old) for old in self.lengths]


def new_cache(params, n_head, capacity):
    return Cache(count_layers(params), capacity, n_head, params["wte"].shape[1] // n_head)


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache.lengths[0])
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    return unembed(params, x)


def store(cache, layer, keys, values):
    return cache.extend(layer, keys, values)


def rollback(cache, length):
    cache.go_back(length)
