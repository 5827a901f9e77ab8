"""Other right ways to write A1; each gets full points."""


# %% cache_class
# The cache is a class that knows how to store and go back.
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


# %% closed_forms
# Counting in closed form; gelu through the logistic function, which is the same as the tanh form.
def gelu(x):
    return x / (1.0 + np.exp(-np.clip(2.0 * np.sqrt(2.0 / np.pi) * (x + 0.044715 * x * x * x), -700.0, 700.0)))


def forward_rows(num_prompt, num_new, cached):
    if cached:
        return (num_prompt + num_new - 1) * (num_new > 0)
    return num_prompt * num_new + num_new * (num_new - 1) // 2


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return float(n_layer * n_embd * num_tokens * (bytes_per_number + bytes_per_number))


# %% concatenated
# A cache that grows by concatenation and goes back by slicing.
def new_cache(params, n_head, capacity):
    return {"layers": [None] * count_layers(params), "length": 0}


def store(cache, layer, keys, values):
    old = cache["layers"][layer]
    if old is not None:
        keys, values = np.concatenate([old[0], keys]), np.concatenate([old[1], values])
    cache["layers"][layer] = keys, values
    return keys, values


def rollback(cache, length):
    cache["layers"] = [layer and (layer[0][:length], layer[1][:length]) for layer in cache["layers"]]
    cache["length"] = min(cache["length"], length)


# %% float32
# Everything in float32, as the models are stored.
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


# %% forward_without_cache
# The uncached forward is written out and shares nothing with the cached one.
def forward(params, n_head, tokens):
    x = params["wte"][tokens] + params["wpe"][np.arange(len(tokens))]
    layer = 0
    while f"h.{layer}.ln_1.weight" in params:

        def part(name, layer=layer):
            return params[f"h.{layer}.{name}.weight"], params[f"h.{layer}.{name}.bias"]

        weight, bias = part("attn.c_attn")
        qkv = (layer_norm(x, *part("ln_1")) @ weight + bias).reshape(len(tokens), 3, n_head, -1)
        weight, bias = part("attn.c_proj")
        x = causal_attention(qkv[:, 0], qkv[:, 1], qkv[:, 2]).reshape(x.shape) @ weight + bias + x
        weight, bias = part("mlp.c_fc")
        hidden = gelu(layer_norm(x, *part("ln_2")) @ weight + bias)
        weight, bias = part("mlp.c_proj")
        x = hidden @ weight + bias + x
        layer += 1
    return np.dot(layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]), np.transpose(params["wte"]))


# %% head_by_head
# Attention as a loop over heads with matrix products, the mask as a large negative number.
def causal_attention(queries, keys, values):
    outputs = []
    for head in range(queries.shape[1]):
        scores = queries[:, head] @ keys[:, head].T * queries.shape[-1] ** -0.5
        behind = np.arange(len(keys))[None, :] > np.arange(len(queries))[:, None] + len(keys) - len(queries)
        scores[behind] = -1e10
        outputs.append(softmax_in_logs(scores) @ values[:, head])
    return np.stack(outputs, axis=1)


def softmax_in_logs(scores):
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    return np.exp(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


# %% one_token_at_a_time
# A feed of several tokens is a loop over single ones.
block_forward = forward_cached


def forward_cached(params, n_head, tokens, cache):
    return np.concatenate([block_forward(params, n_head, [token], cache) for token in tokens])


def generate(params, n_head, prompt, max_tokens):
    cache, tokens = new_cache(params, n_head, len(prompt) + max_tokens), list(prompt)
    for token in prompt[:-1]:
        forward_cached(params, n_head, [token], cache)
    for _ in range(max_tokens):
        tokens.append(int(forward_cached(params, n_head, tokens[-1:], cache)[0].argmax()))
    return tokens[len(prompt) :]
