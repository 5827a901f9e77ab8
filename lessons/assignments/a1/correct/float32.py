"""Everything in float32, as the models are stored."""

double_forward = forward_cached


def to_single(array):
    return np.asarray(array, np.float32)


def layer_norm(x, weight, bias):
    x = to_single(x)
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(EPSILON)) * weight + bias


def causal_attention(queries, keys, values):
    queries, keys, values = to_single(queries), to_single(keys), to_single(values)
    out = np.empty_like(queries)
    for t in range(len(queries)):
        end = len(keys) - len(queries) + t + 1
        scores = np.einsum("hd,shd->hs", queries[t], keys[:end]) / np.float32(np.sqrt(queries.shape[-1]))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out[t] = np.einsum("hs,shd->hd", weights / weights.sum(axis=-1, keepdims=True), values[:end])
    return out


def forward_cached(params, n_head, tokens, cache):
    return double_forward({name: to_single(array) for name, array in params.items()}, n_head, tokens, cache)
