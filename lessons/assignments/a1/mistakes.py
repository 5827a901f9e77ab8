"""Mistakes that students make in A1; minispec/course/grading/catalogue.py says how to read and write them."""

# %% attention_heads_mixed fails a1.q3.attention
# Your heads look at each other's keys: each head attends on its own, over its own D channels.
correct_attention = causal_attention


def causal_attention(queries, keys, values):
    def one_head(array):
        return array.reshape(len(array), 1, -1)

    return correct_attention(one_head(queries), one_head(keys), one_head(values)).reshape(queries.shape)


# %% attention_mask_top_left fails a1.q3.block in causal_attention
# Your mask starts at the first key: with T queries and S keys, query t is token S - T + t of the text.
# - num_queries, num_keys, head_size = len(queries), len(keys), queries.shape[-1]
# - scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(head_size)
# - visible = np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
# + scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
# + visible = np.tri(len(queries), len(keys), 0, dtype=bool)


# %% attention_masked_after_softmax fails a1.q3.attention
# You mask after the softmax, so the weights of a row no longer sum to 1. Mask the scores before it.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    weights = weights * np.tri(len(queries), len(keys), len(keys) - len(queries))
    return np.einsum("hts,shd->thd", weights, values)


# %% attention_masked_with_zero fails a1.q3.attention
# You set masked scores to 0; exp(0) is 1, so the future still counts. Use minus infinity.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = scores * np.tri(len(queries), len(keys), len(keys) - len(queries))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)


# %% attention_multiplied_by_the_root fails a1.q3.attention
# You multiply the scores by sqrt(D); divide them by it.
def causal_attention(queries, keys, values, right=causal_attention):
    return right(queries * queries.shape[-1], keys, values)


# %% attention_no_mask fails a1.q3.attention
# Your queries see tokens that come after them: there is no causal mask.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)


# %% attention_no_scale fails a1.q3.attention
# Your scores are not divided by sqrt(D).
correct_attention = causal_attention


def causal_attention(queries, keys, values):
    return correct_attention(queries * np.sqrt(queries.shape[-1]), keys, values)


# %% attention_no_softmax fails a1.q3.attention
# You weigh with the scores themselves; take their softmax first.
def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = scores * np.tri(num_queries, num_keys, num_keys - num_queries)
    return np.einsum("hts,shd->thd", scores, values)


# %% attention_not_divided fails a1.q3.attention
# You do not divide the exponentials by their sum: the weights of a query must sum to 1.
def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = np.where(np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool), scores, -np.inf)
    return np.einsum("hts,shd->thd", np.exp(scores - scores.max(axis=-1, keepdims=True)), values)


# %% attention_not_to_itself fails a1.q3.attention
# Your tokens do not see themselves: the mask is one too strict.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = np.tri(len(queries), len(keys), len(keys) - len(queries) - 1, dtype=bool)
    scores = np.where(visible, scores, -1e30)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)


# %% attention_one_ahead fails a1.q3.attention in causal_attention
# Your tokens see the one after them: the mask is one too generous.
# - num_queries, num_keys, head_size = len(queries), len(keys), queries.shape[-1]
# - scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(head_size)
# - visible = np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
# + scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
# + visible = np.tri(len(queries), len(keys), len(keys) - len(queries) + 1, dtype=bool)


# %% attention_one_sum_for_all fails a1.q3.attention
# You divide by one sum over all queries and keys; each query's weights must sum to 1 on their own.
def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = np.where(np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=(1, 2), keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(axis=(1, 2), keepdims=True), values)


# %% attention_one_sum_for_all_heads fails a1.q3.attention
# You divide by one sum over all heads, queries and keys; each query's weights must sum to 1 in each head.
def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = np.where(np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max())
    return np.einsum("hts,shd->thd", weights / weights.sum(), values)


# %% attention_overflows fails a1.q3.large
# Your softmax overflows: exp of a large score is infinite. Subtract the largest score of each row first.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = np.tri(len(queries), len(keys), len(keys) - len(queries), dtype=bool)
    with np.errstate(all="ignore"):
        weights = np.where(visible, np.exp(scores), 0.0)
        weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)


# %% attention_past_only_but_the_first fails a1.q3.attention
# Your tokens do not see themselves (only the first one does): token t sees the tokens up to t, itself included.
def causal_attention(queries, keys, values, right=causal_attention):
    before = len(keys) - len(queries)
    ends = [max(1, before + t) for t in range(len(queries))]
    return np.concatenate([right(queries[t : t + 1], keys[:end], values[:end]) for t, end in enumerate(ends)])


# %% attention_reshaped_not_turned fails a1.q3.attention
# You reshape (T, H, D) to (H, T, D), which mixes tokens and heads; turn the axes with transpose.
def causal_attention(queries, keys, values, right=causal_attention):
    def mix(x):
        return x.reshape(x.shape[1], len(x), -1).transpose(1, 0, 2)

    return right(mix(queries), mix(keys), mix(values)).transpose(1, 0, 2).reshape(queries.shape)


# %% attention_scale_by_all_channels fails a1.q3.attention
# Your scores are divided by sqrt(H D), the root of all channels; each head has D of its own.
correct_attention = causal_attention


def causal_attention(queries, keys, values):
    return correct_attention(queries / np.sqrt(queries.shape[1]), keys, values)


# %% attention_scale_by_head_size fails a1.q3.attention
# Your scores are divided by D; they must be divided by sqrt(D).
correct_attention = causal_attention


def causal_attention(queries, keys, values):
    return correct_attention(queries / np.sqrt(queries.shape[-1]), keys, values)


# %% attention_scale_by_heads fails a1.q3.attention
# You divide the scores by the root of the number of heads; D is the size of a head.
def causal_attention(queries, keys, values, right=causal_attention):
    return right(queries * np.sqrt(queries.shape[-1] / queries.shape[1]), keys, values)


# %% attention_scale_by_keys fails a1.q3.attention
# You divide the scores by the root of the number of keys; D is the size of a head.
def causal_attention(queries, keys, values, right=causal_attention):
    return right(queries * np.sqrt(queries.shape[-1] / len(keys)), keys, values)


# %% attention_sees_the_future_only fails a1.q3.attention
# Your mask is inverted: it hides what a token may see, and leaves what comes after it.
def causal_attention(queries, keys, values):
    num_queries, num_keys = len(queries), len(keys)
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = ~np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
    scores = np.where(visible, scores, -1e30)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(axis=-1, keepdims=True), values)


# %% attention_softmax_over_queries fails a1.q3.attention
# Your softmax runs over the queries; for each query the weights of its keys must sum to 1.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = np.tri(len(queries), len(keys), len(keys) - len(queries), dtype=bool)
    weights = np.where(visible, np.exp(scores - scores.max()), 0.0)
    with np.errstate(all="ignore"):
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)


# %% attention_square_mask fails a1.q3.block
# Your mask is T by T; the scores are T by S, and with a filled cache S is larger.
def causal_attention(queries, keys, values):
    num_queries, head_size = len(queries), queries.shape[-1]
    heads = []
    for head in range(queries.shape[1]):
        scores = queries[:, head] @ keys[:, head].T / np.sqrt(head_size)
        scores = scores + np.triu(np.full((num_queries, num_queries), -np.inf), 1)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads.append(weights / weights.sum(axis=-1, keepdims=True) @ values[:, head])
    return np.stack(heads, axis=1)


# %% attention_underflows fails a1.q3.large
# You subtract the largest of all scores; of a row that lies far below it nothing is left, and you divide 0 by 0. Subtract each row's own.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    visible = np.tri(len(queries), len(keys), len(keys) - len(queries), dtype=bool)
    with np.errstate(all="ignore"):
        weights = np.where(visible, np.exp(scores - scores.max()), 0.0)
        weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)


# %% attention_upper_triangle fails a1.q3.attention
# Your mask is upside down: tokens see themselves and what follows, not what came before.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores = np.where(np.triu(np.ones(scores.shape[1:])) == 1, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), values)


# %% attention_weak_mask fails a1.q3.attention
# Your mask subtracts a small number, so the future still has some weight. Use minus infinity.
def causal_attention(queries, keys, values):
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    scores -= 10.0 * (1 - np.tri(len(queries), len(keys), len(keys) - len(queries)))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), values)


# %% bytes_in_bits fails a1.q8.bytes in cache_bytes
# You return bits; bytes are wanted.
# - return 2 * n_layer * n_embd * num_tokens * bytes_per_number
# + return n_layer * 2 * num_tokens * n_embd * bytes_per_number * 8


# %% bytes_keys_only fails a1.q8.bytes in cache_bytes
# The factor 2 is missing: the cache holds keys and values.
# - return 2 * n_layer * n_embd * num_tokens * bytes_per_number
# + return n_layer * n_embd * num_tokens * bytes_per_number


# %% bytes_of_numbers fails a1.q8.bytes in cache_bytes
# You count numbers; each takes `bytes_per_number` bytes.
# - return 2 * n_layer * n_embd * num_tokens * bytes_per_number
# + return 2 * n_layer * n_embd * num_tokens


# %% bytes_of_one_channel fails a1.q8.bytes in cache_bytes
# You count one number for a token's key; it has `n_embd` of them, over all heads.
# - return 2 * n_layer * n_embd * num_tokens * bytes_per_number
# + return 2 * n_layer * num_tokens * bytes_per_number


# %% bytes_of_one_token fails a1.q8.bytes in cache_bytes
# You count one token; the cache holds `num_tokens` of them.
# - return 2 * n_layer * n_embd * num_tokens * bytes_per_number
# + return 2 * n_layer * n_embd * bytes_per_number


# %% bytes_one_layer fails a1.q8.bytes in cache_bytes
# Every layer has keys and values of its own; you count one layer.
# - return 2 * n_layer * n_embd * num_tokens * bytes_per_number
# + return 2 * n_embd * num_tokens * bytes_per_number


# %% bytes_squared fails a1.q8.bytes in cache_bytes
# A cache grows with the number of tokens, not with its square: it holds keys and values, no scores.
# - return 2 * n_layer * n_embd * num_tokens * bytes_per_number
# + return 2 * n_layer * n_embd * num_tokens**2 * bytes_per_number


# %% bytes_with_queries fails a1.q8.bytes in cache_bytes
# You count queries too; nobody needs an old query again: keys and values, a factor of 2.
# - return 2 * n_layer * n_embd * num_tokens * bytes_per_number
# + return 3 * n_layer * n_embd * num_tokens * bytes_per_number


# %% cache_block_sees_itself_whole fails a1.q5.chunks
# Within a feed of several tokens the early ones see the later ones: the new block needs its causal mask too.
right_attention = causal_attention


def attention_block(params, layer, x, n_head, cache):
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    fresh = cache["length"] == 0
    keys, values = store(cache, layer, keys, values)
    if fresh:
        heads = right_attention(queries, keys, values)
    else:
        heads = np.concatenate([right_attention(query[None], keys, values) for query in queries])
    return heads.reshape(x.shape) @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]


# %% cache_forgets_single_tokens fails a1.q5.chunks
# A feed of a single token does not stay in the cache.
right_store = store


def store(cache, layer, keys, values):
    all_keys, all_values = right_store(cache, layer, keys, values)
    if len(keys) == 1 and layer == cache["keys"].shape[0] - 1:
        cache["length"] -= 1
    return all_keys, all_values


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    before = cache["length"]
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] = before + (len(tokens) if len(tokens) > 1 else 0)
    return unembed(params, x)


# %% cache_half_precision fails a1.q5.chunks
# Your cache rounds: float16 keeps three digits. Use float32 or float64.
def new_cache(params, n_head, capacity, right=new_cache):
    cache = right(params, n_head, capacity)
    return cache | {"keys": cache["keys"].astype(np.float16), "values": cache["values"].astype(np.float16)}


# %% cache_keeps_the_inputs fails a1.q5.once
# You keep what the keys and values are made of, and make them again at each feed; keep the keys and values themselves.
def attention_block(params, layer, x, n_head, cache):
    kept, start = cache.setdefault("inputs", {}), cache["length"]
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    kept[layer] = np.concatenate([kept.get(layer, normed)[:start], normed])
    qkv = kept[layer] @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(qkv), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    heads = causal_attention(queries[start:], keys, values).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]


# %% cache_keeps_the_last_of_a_feed fails a1.q5.chunks
# Of each feed only the last token stays in the cache; all of them must.
every_token = forward_cached


def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    logits = every_token(params, n_head, tokens, cache)
    for name in ("keys", "values"):
        cache[name][:, start] = cache[name][:, start + len(tokens) - 1]
    cache["length"] = start + 1
    return logits


# %% cache_keys_are_the_values fails a1.q5.chunks
# Keys and values are the same array, so one overwrites the other: `a = b = np.zeros(...)` makes one array with two names.
def store(cache, layer, keys, values):
    start, end = cache["length"], cache["length"] + len(keys)
    cache["keys"][layer, start:end] = values
    return cache["keys"][layer, :end], cache["keys"][layer, :end]


# %% cache_length_grows_by_layer fails a1.q5.chunks
# Your length grows in every layer; it grows once for a feed, when all layers are through.
def new_cache(params, n_head, capacity, right=new_cache):
    return right(params, n_head, capacity * (count_layers(params) + 1))


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"] % 48)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
        cache["length"] += len(tokens)
    return unembed(params, x)


# %% cache_length_grows_by_one fails a1.q5.chunks in forward_cached
# Your length grows by 1 per feed; it must grow by the number of tokens fed.
# - cache["length"] = start + len(tokens)
# + cache["length"] = start + 1


# %% cache_masked_top_left fails a1.q5.chunks in attention_block
# With a filled cache your mask still begins at the first key: query t of T is token S - T + t.
# - heads = causal_attention(queries, keys, values).reshape(x.shape)
# + scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
# + scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
# + weights = np.exp(scores - scores.max(-1, keepdims=True))
# + heads = np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), values).reshape(x.shape)


# %% cache_new_in_front fails a1.q5.chunks in store
# You put the new keys and values in front of the old ones; they go behind them.
# - cache["keys"][layer, start:end] = keys
# - cache["values"][layer, start:end] = values
# + for name, new in (("keys", keys), ("values", values)):
# +     cache[name][layer, :end] = np.concatenate([new, cache[name][layer, :start]])


# %% cache_not_read fails a1.q5.chunks
# Your attention sees only the tokens of the present feed, not the keys and values in the cache.
def store(cache, layer, keys, values):
    return keys, values


# %% cache_one_for_all fails a1.q5.chunks
# There is one cache for all: a new one empties those that there are. `new_cache` must return an object of its own.
an_empty_cache, the_cache = new_cache, {}


def new_cache(params, n_head, capacity):
    the_cache.update(an_empty_cache(params, n_head, capacity))
    return the_cache


# %% cache_one_layer fails a1.q5.chunks
# All layers share one cache: each layer has keys and values of its own.
def store(cache, layer, keys, values):
    start, end = cache["length"], cache["length"] + len(keys)
    cache["keys"][0, start:end] = keys
    cache["values"][0, start:end] = values
    if layer == 0:
        return cache["keys"][0, :end], cache["values"][0, :end]
    return np.concatenate([cache["keys"][0, :start], keys]), np.concatenate([cache["values"][0, :start], values])


# %% cache_one_list_for_all_layers fails a1.q5.chunks
# All layers add to one list: `[[]] * n` is one list n times over. Each layer has keys and values of its own.
def new_cache(params, n_head, capacity):
    return {"keys": [], "values": [], "length": 0}


def store(cache, layer, keys, values):
    cache["keys"] += list(keys)
    cache["values"] += list(values)
    return np.array(cache["keys"]), np.array(cache["values"])


def rollback(cache, length):
    if length < cache["length"]:
        del cache["keys"][length:], cache["values"][length:]
        cache["length"] = length


# %% cache_overwritten fails a1.q5.chunks in store
# Each feed overwrites the cache from slot 0; new keys and values go behind the old ones.
# - cache["keys"][layer, start:end] = keys
# - cache["values"][layer, start:end] = values
# + cache["keys"][layer, : len(keys)] = keys
# + cache["values"][layer, : len(keys)] = values


# %% cache_positions_restart fails a1.q5.chunks
# Your positions restart at 0 with each feed; the first new token stands behind what the cache holds.
def forward(params, n_head, tokens):
    return forward_cached(params, n_head, tokens, new_cache(params, n_head, len(tokens)))


def embed(params, tokens, start):
    return params["wte"][np.asarray(tokens)] + params["wpe"][: len(tokens)]


# %% cache_recomputed fails a1.q5.once
# You keep the tokens and run the whole text again at each feed: the right logits, at the cost the cache is there to
# save.
def new_cache(params, n_head, capacity):
    return {"tokens": []}


def forward(params, n_head, tokens):
    return whole_forward(params, n_head, tokens)


def whole_forward(params, n_head, tokens):
    x = embed(params, tokens, 0)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, None)
        x = x + mlp_block(params, layer, x)
    return unembed(params, x)


def store(cache, layer, keys, values):
    return keys, values


def forward_cached(params, n_head, tokens, cache):
    cache["tokens"] += list(tokens)
    return whole_forward(params, n_head, cache["tokens"])[-len(tokens) :]


def rollback(cache, length):
    del cache["tokens"][length:]


# %% cache_shared fails a1.q5.chunks
# Your caches share their arrays: what is fed to one overwrites another. Each new cache needs arrays of its own.
arrays = {}


def new_cache(params, n_head, capacity):
    shape = (count_layers(params), 64, n_head, params["wte"].shape[1] // n_head)
    if shape not in arrays:
        arrays[shape] = np.zeros(shape), np.zeros(shape)
    keys, values = arrays[shape]
    return {"keys": keys, "values": values, "length": 0}


# %% cache_whole_numbers fails a1.q5.chunks
# Your cache cuts numbers to whole ones: its arrays have an integer dtype.
def new_cache(params, n_head, capacity, right=new_cache):
    cache = right(params, n_head, capacity)
    return cache | {"keys": cache["keys"].astype(np.int64), "values": cache["values"].astype(np.int64)}


# %% cache_whole_capacity fails a1.q5.chunks in store
# You attend to the cache's whole room, also to what lies beyond its length; give the first S keys and values only.
# - return cache["keys"][layer, :end], cache["values"][layer, :end]
# + return cache["keys"][layer], cache["values"][layer]


# %% cache_without_values fails a1.q5.chunks in store
# Keys of earlier tokens are there, but not their values: both belong into the cache.
# - cache["keys"][layer, start:end] = keys
# + cache["keys"][layer, start:end] = keys
# + cache["values"][layer, :start] = 0.0


# %% forward_activation_last fails a1.q4.logits in mlp_block
# Your gelu comes after the MLP's second matrix; it stands between the two.
# - hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
# - return hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"]
# + hidden = normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"]
# + return gelu(hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"])


# %% forward_batch_axis fails a1.q4.logits in forward
# Your logits have a batch axis in front; the shape is (T, V).
# - return forward_cached(params, n_head, tokens, new_cache(params, n_head, len(tokens)))
# + return forward_cached(params, n_head, tokens, new_cache(params, n_head, len(tokens)))[None]


# %% forward_first_layer_only fails a1.q4.logits in count_layers
# You run the first layer only; the next one reads what it made.
# - return sum(name.endswith(".ln_1.weight") for name in params)
# + return 1


# %% forward_heads_interleaved fails a1.q4.logits in attention_block
# You put the heads together channel by channel; head h's D channels stay side by side, from h D on.
# - heads = causal_attention(queries, keys, values).reshape(x.shape)
# + heads = causal_attention(queries, keys, values).swapaxes(1, 2).reshape(x.shape)


# %% forward_heads_not_turned_back fails a1.q4.logits in attention_block
# You reshape the heads' outputs from (H, T, D) to (T, C); turn them to (T, H, D) first.
# - heads = causal_attention(queries, keys, values).reshape(x.shape)
# + heads = causal_attention(queries, keys, values).transpose(1, 0, 2).reshape(x.shape)


# %% forward_heads_split_first fails a1.q4.logits in attention_block
# You split c_attn's output by heads before splitting it into q, k and v; the three come first, C columns each.
# - queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
# + queries, keys, values = np.moveaxis(qkv.reshape(len(x), n_head, 3, -1), 2, 0)


# %% forward_heads_strided fails a1.q4.logits in attention_block
# Your heads take every H-th channel; head h owns the D channels from h D on.
# - queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
# - keys, values = store(cache, layer, keys, values)
# - heads = causal_attention(queries, keys, values).reshape(x.shape)
# + queries, keys, values = (part.reshape(len(x), -1, n_head).transpose(0, 2, 1) for part in np.split(qkv, 3, axis=-1))
# + keys, values = store(cache, layer, keys, values)
# + heads = causal_attention(queries, keys, values).transpose(0, 2, 1).reshape(x.shape)


# %% forward_keys_and_values_swapped fails a1.q4.logits in attention_block
# Keys and values are swapped: the columns of c_attn are q, then k, then v.
# - queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
# + queries, values, keys = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))


# %% forward_keys_first fails a1.q4.logits in attention_block
# You split c_attn's output into keys, queries, values; the columns are q, then k, then v.
# - queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
# + keys, queries, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))


# %% forward_last_norm_of_a_layer fails a1.q4.logits
# Your last norm has the parameters of a layer's ln_2; it has its own, ln_f.
def unembed(params, x):
    name = f"h.{count_layers(params) - 1}.ln_2"
    return layer_norm(x, params[f"{name}.weight"], params[f"{name}.bias"]) @ params["wte"].T


# %% forward_last_row_only fails a1.q4.logits in unembed
# You return only the logits after the last token; all T rows are wanted.
# - return layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
# + return (layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T)[-1]


# %% forward_layers_as_texts fails a1.q4.logits
# You read the layers in the order of their names as texts, where h.10 comes before h.2.
def forward(params, n_head, tokens):
    cache, x = new_cache(params, n_head, len(tokens)), embed(params, tokens, 0)
    for layer in sorted(range(count_layers(params)), key=str):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    return unembed(params, x)


# %% forward_no_activation fails a1.q4.logits in mlp_block
# There is no activation between the two matrices of the MLP.
# - hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
# + hidden = normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"]


# %% forward_no_attention_norm fails a1.q4.logits in attention_block
# The attention reads x itself; it must read ln_1(x).
# - normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
# - qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
# + qkv = x @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]


# %% forward_no_attention_residual fails a1.q4.logits in forward_cached
# The residual connection around the attention is missing: x + attention(norm(x)).
# -     x = x + attention_block(params, layer, x, n_head, cache)
# +     x = attention_block(params, layer, x, n_head, cache)


# %% forward_no_last_norm fails a1.q4.logits in unembed
# The last layer norm, ln_f, is missing before the logits.
# - return layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
# + return x @ params["wte"].T


# %% forward_no_mlp_norm fails a1.q4.logits in mlp_block
# The MLP reads x itself; it must read ln_2(x).
# - normed = layer_norm(x, params[f"h.{layer}.ln_2.weight"], params[f"h.{layer}.ln_2.bias"])
# - hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
# + hidden = gelu(x @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])


# %% forward_no_mlp_residual fails a1.q4.logits in forward_cached
# The residual connection around the MLP is missing: x + mlp(norm(x)).
# -     x = x + mlp_block(params, layer, x)
# +     x = mlp_block(params, layer, x)


# %% forward_no_output_projection fails a1.q4.logits in attention_block
# The attention's output projection c_proj is missing.
# - heads = causal_attention(queries, keys, values).reshape(x.shape)
# - return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
# + return causal_attention(queries, keys, values).reshape(x.shape)


# %% forward_no_positions fails a1.q4.logits in embed
# The position embeddings wpe are missing.
# - return params["wte"][np.asarray(tokens)] + params["wpe"][start : start + len(tokens)]
# + return params["wte"][np.asarray(tokens)]


# %% forward_norms_swapped_round fails a1.q4.logits
# You norm the sums, x = norm(x + attention(x)); GPT-2 norms what goes in: x = x + attention(norm(x)).
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in range(count_layers(params)):
        part = {name: params[f"h.{layer}.{name}"] for name in ("ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias")}
        qkv = x @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
        queries, keys, values = (one.reshape(len(x), n_head, -1) for one in np.split(qkv, 3, axis=-1))
        heads = causal_attention(queries, *store(cache, layer, keys, values)).reshape(x.shape)
        x = x + heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
        x = layer_norm(x, part["ln_1.weight"], part["ln_1.bias"])
        hidden = gelu(x @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
        x = x + hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"]
        x = layer_norm(x, part["ln_2.weight"], part["ln_2.bias"])
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% forward_one_layer_for_all fails a1.q4.logits
# Every layer of yours uses the weights of layer 0.
right_attention_block, right_mlp_block = attention_block, mlp_block


def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start)
    for layer in range(count_layers(params)):
        shared = {
            name.replace("h.0.", f"h.{layer}."): array for name, array in params.items() if name.startswith("h.0.")
        }
        x = x + right_attention_block(shared, layer, x, n_head, cache)
        x = x + right_mlp_block(shared, layer, x)
    cache["length"] = start + len(tokens)
    return unembed(params, x)


# %% forward_one_position fails a1.q4.logits in embed
# All your tokens get the position embedding of the first one; token t stands at position t.
# - return params["wte"][np.asarray(tokens)] + params["wpe"][start : start + len(tokens)]
# + return params["wte"][np.asarray(tokens)] + params["wpe"][start]


# %% forward_one_row fails a1.q4.logits
# You return one row of logits, that of the last token; there is a row for each of the T tokens.
every_row = forward


def forward(params, n_head, tokens):
    return every_row(params, n_head, tokens)[-1:]


# %% forward_parallel_blocks fails a1.q4.logits in forward_cached
# Your MLP reads the input of the layer; it must read what the attention left: two steps, one after the other.
# -     x = x + attention_block(params, layer, x, n_head, cache)
# -     x = x + mlp_block(params, layer, x)
# +     x = x + attention_block(params, layer, x, n_head, cache) + mlp_block(params, layer, x)


# %% forward_positions_from_one fails a1.q4.logits in embed
# Your positions start at 1; the first token stands at position 0.
# - return params["wte"][np.asarray(tokens)] + params["wpe"][start : start + len(tokens)]
# + return params["wte"][np.asarray(tokens)] + params["wpe"][start + 1 : start + 1 + len(tokens)]


# %% forward_positions_in_each_layer fails a1.q4.logits
# You add the position embeddings in front of every layer; they are added once, to the token embeddings.
def attention_block(params, layer, x, n_head, cache, right=attention_block):
    if layer:
        x += params["wpe"][cache["length"] : cache["length"] + len(x)]
    return right(params, layer, x, n_head, cache)


# %% forward_post_norm fails a1.q4.logits
# You norm after each addition; GPT-2 norms what goes into the attention and the MLP, x + attention(norm(x)).
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in range(count_layers(params)):
        unit = {f"h.{layer}.ln_1.weight": np.ones(x.shape[1]), f"h.{layer}.ln_1.bias": np.zeros(x.shape[1])}
        attended = x + attention_block(params | unit, layer, x, n_head, cache)
        x = layer_norm(attended, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
        x = layer_norm(
            x + mlp_block(params, layer, x), params[f"h.{layer}.ln_2.weight"], params[f"h.{layer}.ln_2.bias"]
        )
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% forward_relu fails a1.q4.logits
# Your MLP uses relu; GPT-2 uses gelu.
def mlp_block(params, layer, x):
    name = f"h.{layer}"
    x = layer_norm(x, params[f"{name}.ln_2.weight"], params[f"{name}.ln_2.bias"])
    x = np.maximum(0, x @ params[f"{name}.mlp.c_fc.weight"] + params[f"{name}.mlp.c_fc.bias"])
    return x @ params[f"{name}.mlp.c_proj.weight"] + params[f"{name}.mlp.c_proj.bias"]


# %% forward_residual_of_the_normed fails a1.q4.logits
# You add attention and MLP to the normed input; the sum goes on from x itself, as it was before the norm.
def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start)
    for layer in range(count_layers(params)):
        for norm in ("ln_1", "ln_2"):
            normed = layer_norm(x, params[f"h.{layer}.{norm}.weight"], params[f"h.{layer}.{norm}.bias"])
            added = attention_block(params, layer, x, n_head, cache) if norm == "ln_1" else mlp_block(params, layer, x)
            x = normed + added
    cache["length"] = start + len(tokens)
    return unembed(params, x)


# %% forward_returns_log_probabilities fails a1.q4.logits
# You return logarithms of probabilities; the logits are what comes before the softmax.
def unembed(params, x):
    logits = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


# %% forward_returns_probabilities fails a1.q4.logits
# You return probabilities; the logits are what comes before the softmax.
def unembed(params, x):
    logits = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


# %% forward_scaled_embeddings fails a1.q4.logits in embed
# You scale the token embeddings by a root of C, as some other models do; GPT-2 takes them as they are.
# - return params["wte"][np.asarray(tokens)] + params["wpe"][start : start + len(tokens)]
# + scale = np.sqrt(params["wte"].shape[1])
# + return scale * params["wte"][np.asarray(tokens)] + params["wpe"][start : start + len(tokens)]


# %% forward_without_attention_bias fails a1.q4.logits in attention_block
# The bias of c_attn is missing.
# - qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
# - queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
# + queries, keys, values = np.split(normed @ params[f"h.{layer}.attn.c_attn.weight"], 3, axis=1)
# + queries, keys, values = (a.reshape(len(x), n_head, -1) for a in (queries, keys, values))


# %% forward_without_first_mlp_bias fails a1.q4.logits in mlp_block
# The bias of the MLP's first matrix is missing.
# - hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
# + hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"])


# %% forward_without_last_layer fails a1.q4.logits in count_layers
# Your last layer is never run: with layers 0 to n - 1 there are n of them.
# - return sum(name.endswith(".ln_1.weight") for name in params)
# + return sum(name.endswith(".ln_1.weight") for name in params) - 1


# %% forward_without_mlp_bias fails a1.q4.logits in mlp_block
# The bias of the MLP's second matrix is missing.
# - return hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"]
# + return hidden @ params[f"h.{layer}.mlp.c_proj.weight"]


# %% forward_without_projection_bias fails a1.q4.logits
# The bias of the attention's output projection c_proj is missing.
def attention_block(params, layer, x, n_head, cache, right=attention_block):
    return right(params, layer, x, n_head, cache) - params[f"h.{layer}.attn.c_proj.bias"]


# %% forward_wrong_mlp_norm fails a1.q4.logits in mlp_block
# The MLP is normalised with ln_1; it has a norm of its own, ln_2.
# - normed = layer_norm(x, params[f"h.{layer}.ln_2.weight"], params[f"h.{layer}.ln_2.bias"])
# + normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])


# %% forward_wrong_reshape fails a1.q4.logits in attention_block
# You reshape (T, C) to (H, T, D), which mixes tokens; reshape to (T, H, D) and transpose if you need heads first.
# - queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
# + queries, keys, values = (part.reshape(n_head, len(x), -1).transpose(1, 0, 2) for part in np.split(qkv, 3, axis=-1))


# %% gelu_brackets fails a1.q2.gelu in gelu
# A pair of brackets is missing: x/2 multiplies the whole sum 1 + tanh(...).
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return 0.5 * x * 1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))


# %% gelu_cube_outside fails a1.q2.gelu in gelu
# The factor sqrt(2 / pi) multiplies x only; it multiplies x + 0.044715 x**3 as a whole.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * x + 0.044715 * x**3))


# %% gelu_exact fails a1.q2.gelu
# You use the exact form with erf; GPT-2 was trained with the tanh form, which differs in the fourth digit.
import math


def gelu(x):
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


# %% gelu_half_only_x fails a1.q2.gelu in gelu
# A pair of brackets is missing: the 1 is added outside; x/2 multiplies the whole sum 1 + tanh(...).
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return 1.0 + 0.5 * x * np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))


# %% gelu_is_relu fails a1.q2.gelu in gelu
# This is relu, not gelu: it is exactly 0 for negative numbers.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return np.maximum(x, 0.0)


# %% gelu_no_cube fails a1.q2.gelu in gelu
# The term 0.044715 x**3 is missing.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * x))


# %% gelu_sigmoid fails a1.q2.gelu in gelu
# You use the approximation x * sigmoid(1.702 x); GPT-2 uses the tanh form.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return x / (1.0 + np.exp(-1.702 * x))


# %% gelu_silu fails a1.q2.gelu in gelu
# This is x * sigmoid(x), the activation of other models; GPT-2 uses the tanh form of gelu.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return x / (1.0 + np.exp(-np.clip(x, -500, 500)))


# %% gelu_squared fails a1.q2.gelu in gelu
# The polynomial holds x**2; it is x + 0.044715 x**3, with a cube.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**2)))


# %% gelu_times_three fails a1.q2.gelu in gelu
# You multiply by 3 where x is raised to the third power.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * 3 * x)))


# %% gelu_without_the_root fails a1.q2.gelu in gelu
# Your factor is 2 / pi; it is its square root.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return 0.5 * x * (1.0 + np.tanh(2.0 / np.pi * (x + 0.044715 * x**3)))


# %% gelu_wrong_constant fails a1.q2.gelu in gelu
# Your constant is 0.44715; it is 0.044715.
# - return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
# + return x * 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.44715 * np.power(x, 3))))


# %% generate_argmax_of_all_rows fails a1.q7.greedy in generate
# You take the largest of all logits; only the last row says what comes next.
# -     pending = [int(np.argmax(logits[-1]))]
# +     pending = [int(np.argmax(logits) % logits.shape[1])]


# %% generate_at_least_one fails a1.q7.greedy
# With max_tokens = 0 you still return a token.
right_generate = generate


def generate(params, n_head, prompt, max_tokens):
    return right_generate(params, n_head, prompt, max(1, max_tokens))


# %% generate_drops_the_first fails a1.q7.greedy
# You drop the token that follows the prompt: the last row of the prefill is the first token's.
right_generate = generate


def generate(params, n_head, prompt, max_tokens):
    return right_generate(params, n_head, prompt, max_tokens + 1)[1:]


# %% generate_feeds_everything_again fails a1.q7.greedy
# You feed the whole text on top of a cache that already holds it; feed only the last token.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, (len(prompt) + max_tokens) * (max_tokens + 1))
    wide = dict(params, wpe=np.resize(params["wpe"], (2000, params["wpe"].shape[1])))
    tokens = list(prompt)
    for _ in range(max_tokens):
        tokens.append(int(np.argmax(forward_cached(wide, n_head, tokens, cache)[-1])))
    return tokens[len(prompt) :]


# %% generate_from_the_first_row fails a1.q7.greedy in generate
# You read the first row of the logits; the next token follows the last row.
# -     pending = [int(np.argmax(logits[-1]))]
# +     pending = [int(np.argmax(logits[0]))]


# %% generate_least_likely fails a1.q7.greedy in generate
# You take the smallest logit; the likeliest token has the largest.
# -     logits = forward_cached(params, n_head, pending, cache)
# -     pending = [int(np.argmax(logits[-1]))]
# +     pending = [int(np.argmin(forward_cached(params, n_head, pending, cache)[-1]))]


# %% generate_one_too_few fails a1.q7.greedy
# You return one token too few: the prompt's own last row already gives the first one.
right_generate = generate


def generate(params, n_head, prompt, max_tokens):
    return right_generate(params, n_head, prompt, max_tokens)[:-1]


# %% generate_one_too_many fails a1.q7.greedy
# You return one token too many.
right_generate = generate


def generate(params, n_head, prompt, max_tokens):
    return right_generate(params, n_head, prompt, max_tokens + 1)


# %% generate_refeeds_the_prompt_token fails a1.q7.greedy
# You feed the last token of the prompt twice: its row in the prefill already gives the first new token.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens + 1)
    forward_cached(params, n_head, prompt, cache)
    tokens = list(prompt)
    for _ in range(max_tokens):
        tokens.append(int(np.argmax(forward_cached(params, n_head, tokens[-1:], cache)[0])))
    return tokens[len(prompt) :]


# %% generate_ties_to_the_highest fails a1.q7.greedy in generate
# Of equal logits you take the highest id; ties go to the lowest.
# -     logits = forward_cached(params, n_head, pending, cache)
# -     pending = [int(np.argmax(logits[-1]))]
# +     row = forward_cached(params, n_head, pending, cache)[-1]
# +     pending = [len(row) - 1 - int(np.argmax(row[::-1]))]


# %% generate_with_the_prompt fails a1.q7.greedy
# You return the prompt too; only the new tokens are wanted.
right_generate = generate


def generate(params, n_head, prompt, max_tokens):
    return list(prompt) + right_generate(params, n_head, prompt, max_tokens)


# %% generate_without_cache fails a1.q7.cost
# You run the whole text through the network again for each new token; feed the prompt to a cache once, then only the
# newest token.
def generate(params, n_head, prompt, max_tokens):
    tokens = list(prompt)
    while len(tokens) < len(prompt) + max_tokens:
        tokens.append(int(np.argmax(forward(params, n_head, tokens)[-1])))
    return tokens[len(prompt) :]


# %% layer_norm_bias_scaled fails a1.q1.rows
# You add the bias before you multiply by the weight; it is added last, as it is.
def layer_norm(x, weight, bias):
    mean, variance = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    return ((x - mean) / np.sqrt(variance + EPSILON) + bias) * weight


# %% layer_norm_epsilon_as_floor fails a1.q1.small
# You take epsilon for the smallest deviation allowed; it is added to the variance of every row: sqrt(variance + epsilon).
def layer_norm(x, weight, bias):
    deviation = np.maximum(x.std(axis=-1, keepdims=True), EPSILON)
    return (x - x.mean(axis=-1, keepdims=True)) / deviation * weight + bias


# %% layer_norm_epsilon_outside fails a1.q1.small in layer_norm
# You add epsilon to the standard deviation; it belongs inside the root: sqrt(variance + epsilon).
# - variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
# - return (x - mean) / np.sqrt(variance + EPSILON) * weight + bias
# + deviation = np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True))
# + return (x - mean) / (deviation + EPSILON) * weight + bias


# %% layer_norm_epsilon_too_small fails a1.q1.small in layer_norm
# Your epsilon is smaller than 1e-5; rows of little variance show it.
# - variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
# - return (x - mean) / np.sqrt(variance + EPSILON) * weight + bias
# + return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6) * weight + bias


# %% layer_norm_no_bias fails a1.q1.rows in layer_norm
# The bias is missing from your result.
# - return (x - mean) / np.sqrt(variance + EPSILON) * weight + bias
# + return (x - mean) / np.sqrt(variance + EPSILON) * weight


# %% layer_norm_no_epsilon fails a1.q1.small in layer_norm
# You divide without epsilon: a row of equal numbers has variance 0.
# - return (x - mean) / np.sqrt(variance + EPSILON) * weight + bias
# + with np.errstate(all="ignore"):
# +     return (x - mean) / np.sqrt(variance) * weight + bias


# %% layer_norm_no_keepdims fails a1.q1.rows
# Your mean of each row has lost its axis, so it does not fit the rows any more: `keepdims=True` keeps it.
def layer_norm(x, weight, bias):
    return (x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + EPSILON) * weight + bias


# %% layer_norm_no_mean fails a1.q1.rows
# You do not subtract the mean (that would be RMS norm).
def layer_norm(x, weight, bias):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + EPSILON) * weight + bias


# %% layer_norm_no_weight fails a1.q1.rows
# The weight is missing from your result.
def layer_norm(x, weight, bias):
    variance = x.var(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + EPSILON) + bias


# %% layer_norm_numerator_not_centred fails a1.q1.rows
# You divide x itself by the standard deviation; subtract the mean first.
def layer_norm(x, weight, bias):
    return x / np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON) * weight + bias


# %% layer_norm_one_plus_weight fails a1.q1.rows
# You scale by 1 + weight, as some other models do; GPT-2's weight is the whole factor.
def layer_norm(x, weight, bias):
    variance = x.var(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + EPSILON) * (1 + weight) + bias


# %% layer_norm_over_everything fails a1.q1.rows
# You take one mean and one variance of the whole array; each row has its own.
def layer_norm(x, weight, bias):
    return (x - x.mean()) / np.sqrt(x.var() + EPSILON) * weight + bias


# %% layer_norm_over_tokens fails a1.q1.rows in layer_norm
# You normalise over the tokens (axis 0); each token is normalised over its own channels (axis -1).
# - mean = x.mean(axis=-1, keepdims=True)
# - variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
# + mean = x.mean(axis=0, keepdims=True)
# + variance = ((x - mean) ** 2).mean(axis=0, keepdims=True)


# %% layer_norm_scaled_first fails a1.q1.rows
# You scale and shift before normalising, which undoes it; scale and shift the normalised row.
def layer_norm(x, weight, bias):
    x = x * weight + bias
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)


# %% layer_norm_second_moment fails a1.q1.rows
# Your variance is the mean of the squares; subtract the mean before you square.
def layer_norm(x, weight, bias):
    variance = (x**2).mean(axis=-1, keepdims=True)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance + EPSILON) * weight + bias


# %% layer_norm_unbiased fails a1.q1.rows in layer_norm
# Your variance divides by C - 1; layer norm divides by C.
# - variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
# + variance = x.var(axis=-1, ddof=1, keepdims=True)


# %% layer_norm_variance_floor fails a1.q1.small
# You take epsilon for the smallest variance allowed; it is added to the variance of every row: sqrt(variance + epsilon).
def layer_norm(x, weight, bias):
    variance = np.maximum(x.var(axis=-1, keepdims=True), EPSILON)
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(variance) * weight + bias


# %% layer_norm_variance_not_rooted fails a1.q1.rows
# You divide by the variance; divide by its root.
def layer_norm(x, weight, bias):
    mean, variance = np.mean(x, -1, keepdims=True), np.var(x, -1, keepdims=True)
    return weight * ((x - mean) / (variance + EPSILON)) + bias


# %% rollback_does_nothing fails a1.q6.rollback in rollback
# Your rollback changes nothing: the rejected tokens stay in the cache.
# - cache["length"] = min(cache["length"], length)
# + pass


# %% rollback_drops_that_many fails a1.q6.rollback in rollback
# Your rollback drops `length` tokens; it must keep the first `length`.
# - cache["length"] = min(cache["length"], length)
# + cache["length"] = max(0, cache["length"] - length)


# %% rollback_empties fails a1.q6.rollback in rollback
# Your rollback empties the cache: right only if you then fed everything again.
# - cache["length"] = min(cache["length"], length)
# + cache["length"] = 0


# %% rollback_first_layer_only fails a1.q6.rollback
# Only the first layer of your cache goes back; every layer must.
def new_cache(params, n_head, capacity):
    n_embd = params["wte"].shape[1]
    shape = (count_layers(params), 0, n_head, n_embd // n_head)
    return {"keys": list(np.zeros(shape)), "values": list(np.zeros(shape)), "length": 0}


def store(cache, layer, keys, values):
    cache["keys"][layer] = np.concatenate([cache["keys"][layer], keys])
    cache["values"][layer] = np.concatenate([cache["values"][layer], values])
    return cache["keys"][layer], cache["values"][layer]


def rollback(cache, length):
    cache["length"] = min(cache["length"], length)
    cache["keys"][0], cache["values"][0] = cache["keys"][0][:length], cache["values"][0][:length]


# %% rollback_forgets_positions fails a1.q6.rollback
# After a rollback your positions go on counting from before it; they must go back with the length.
right_embed = embed


def new_cache(params, n_head, capacity):
    n_embd = params["wte"].shape[1]
    shape = (count_layers(params), capacity, n_head, n_embd // n_head)
    return {"keys": np.zeros(shape), "values": np.zeros(shape), "length": 0, "seen": 0}


def forward_cached(params, n_head, tokens, cache):
    x = right_embed(params, tokens, cache["seen"])
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] += len(tokens)
    cache["seen"] += len(tokens)
    return unembed(params, x)


# %% rollback_ignores_zero fails a1.q6.rollback
# Going back to length 0 does nothing: you test the length for truth. Afterwards the cache is empty.
def rollback(cache, length):
    if length:
        cache["length"] = min(cache["length"], length)


# %% rollback_keys_only fails a1.q6.rollback
# Your keys go back and your values do not: they no longer belong to the same tokens.
def new_cache(params, n_head, capacity):
    n_embd = params["wte"].shape[1]
    shape = (count_layers(params), 0, n_head, n_embd // n_head)
    return {"keys": list(np.zeros(shape)), "values": list(np.zeros(shape)), "length": 0}


def store(cache, layer, keys, values):
    cache["keys"][layer] = np.concatenate([cache["keys"][layer], keys])
    cache["values"][layer] = np.concatenate([cache["values"][layer], values])
    return cache["keys"][layer], cache["values"][layer][: len(cache["keys"][layer])]


def rollback(cache, length):
    cache["length"] = min(cache["length"], length)
    cache["keys"] = [keys[:length] for keys in cache["keys"]]


# %% rollback_lengthens fails a1.q6.rollback in rollback
# Going back to a length beyond what the cache holds must change nothing: keep at most `length` tokens.
# - cache["length"] = min(cache["length"], length)
# + cache["length"] = length


# %% rollback_one_too_few fails a1.q6.rollback in rollback
# Your rollback keeps one token too few.
# - cache["length"] = min(cache["length"], length)
# + cache["length"] = max(0, min(cache["length"], length - 1))


# %% rollback_one_too_few_if_shorter fails a1.q6.rollback
# Where there is something to drop, your rollback keeps one token too few.
def rollback(cache, length):
    if length < cache["length"]:
        cache["length"] = max(length - 1, 0)


# %% rollback_one_too_many fails a1.q6.rollback in rollback
# Your rollback keeps one token too many.
# - cache["length"] = min(cache["length"], length)
# + cache["length"] = min(cache["length"], length + 1)


# %% rollback_pops_as_it_shrinks fails a1.q6.rollback
# You pop at a growing index from a list that shrinks: take from its end, or `del x[length:]`.
def new_cache(params, n_head, capacity):
    return {
        "keys": [[] for _ in range(count_layers(params))],
        "values": [[] for _ in range(count_layers(params))],
        "length": 0,
    }


def store(cache, layer, keys, values):
    cache["keys"][layer] += list(keys)
    cache["values"][layer] += list(values)
    return np.array(cache["keys"][layer]), np.array(cache["values"][layer])


def rollback(cache, length):
    for kept in cache["keys"] + cache["values"]:
        for i in range(length, len(kept)):
            kept.pop(i)
    cache["length"] = min(cache["length"], length)


# %% rollback_wrong_axis fails a1.q6.rollback
# You cut the wrong axis: what is shortened to `length` must be the tokens, not layers or heads.
def store(cache, layer, keys, values):
    kept = cache.setdefault("kept", {})
    old = kept.get(layer, (keys[:0], values[:0]))
    kept[layer] = tuple(np.concatenate([a, b]) for a, b in zip(old, (keys, values)))
    return kept[layer]


def rollback(cache, length):
    cache["kept"] = {n: tuple(a[:, :length] for a in pair) for n, pair in cache.get("kept", {}).items()}
    cache["length"] = min(cache["length"], length)


# %% rollback_zeroes fails a1.q6.rollback in rollback
# You set the dropped keys and values to zero but keep them: a key of zeros still gets weight. Shorten the cache.
# - cache["length"] = min(cache["length"], length)
# + cache["keys"][:, length:] = 0.0
# + cache["values"][:, length:] = 0.0


# %% rows_as_forwards fails a1.q8.rows
# You count forwards; a forward over T tokens has T rows.
def forward_rows(num_prompt, num_new, cached):
    return num_new


# %% rows_for_nothing fails a1.q8.rows
# To generate no token nothing need be computed: 0 rows.
def forward_rows(num_prompt, num_new, cached):
    return num_prompt + num_new - 1 if cached else sum(num_prompt + i for i in range(num_new))


# %% rows_of_the_final_text fails a1.q8.rows
# Without a cache you count the final length for every forward; the i-th one gets the text so far.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0 or cached:
        return num_prompt + num_new - 1 if num_new else 0
    return num_new * (num_prompt + num_new - 1)


# %% rows_only_new fails a1.q8.rows
# You forget the prompt: its tokens pass through the network once.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_new if cached else sum(num_prompt + i for i in range(num_new))


# %% rows_prompt_plus_new fails a1.q8.rows
# With a cache the last new token is never fed: P + N - 1 rows, not P + N.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_prompt + num_new if cached else sum(num_prompt + i for i in range(num_new))


# %% rows_uncached_one_ahead fails a1.q8.rows
# Without a cache your i-th forward counts its own result: the first one has P rows, not P + 1.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_prompt + num_new - 1 if cached else sum(num_prompt + i + 1 for i in range(num_new))


# %% rows_without_growth fails a1.q8.rows
# Without a cache the text grows by a token each time; you count the prompt's length for all of them.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_prompt + num_new - 1 if cached else num_prompt * num_new
