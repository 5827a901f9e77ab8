"""Wrong submissions to A1 in the words of students, in a structure of their own; see tests/course/grading/test_naming.py."""


# %% g_attn_bare fails a1.q3.attention is attention_no_scale also attention_overflows
# Neither scales the scores nor subtracts the largest.
def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    with np.errstate(all="ignore"):
        e = np.exp(np.einsum("ihd,jhd->hij", queries, keys))
        e = np.tril(e, S - T)
        return np.einsum("hij,jhd->ihd", e / e.sum(2)[..., None], values)


# %% g_attn_loop_from_start fails a1.q3.block is attention_mask_top_left
# Lets query t see the first t + 1 keys, also when keys came before.
def softmax(z):
    z = np.exp(z - np.max(z))
    return z / np.sum(z)


def causal_attention(queries, keys, values):
    out = np.zeros_like(queries, dtype=float)
    for t in range(len(queries)):
        for h in range(queries.shape[1]):
            w = softmax(keys[: t + 1, h] @ queries[t, h] / np.sqrt(queries.shape[2]))
            out[t, h] = w @ values[: t + 1, h]
    return out


# %% g_attn_mask_inverted fails a1.q3.attention is attention_sees_the_future_only
# Sets what may be seen to minus infinity and leaves the future.
def causal_attention(queries, keys, values):
    T, S = queries.shape[0], keys.shape[0]
    q, k, v = (a.transpose(1, 0, 2) for a in (queries, keys, values))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    past = np.tril(np.ones((T, S)), S - T)
    scores[:, past == 1] = -1e30
    w = np.exp(scores - scores.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    return (w @ v).transpose(1, 0, 2)


# %% g_attn_mask_square fails a1.q3.block is attention_square_mask
# Builds a square mask of T by T, which does not fit when there are more keys.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    mask = np.triu(np.full((T, T), -np.inf), 1)
    out = np.zeros((T, H, D))
    for h in range(H):
        s = queries[:, h] @ keys[:, h].T / np.sqrt(D) + mask
        e = np.exp(s - s.max(axis=1, keepdims=True))
        out[:, h] = (e / e.sum(axis=1, keepdims=True)) @ values[:, h]
    return out


# %% g_attn_past_only fails a1.q3.attention is attention_past_only_but_the_first
# Slices the keys up to the token's own, which is left out (but the first token sees itself).
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    start = len(keys) - T
    out = np.zeros((T, H, D))
    for t in range(T):
        end = max(1, start + t)
        for h in range(H):
            s = np.array([queries[t, h] @ keys[j, h] for j in range(end)]) / np.sqrt(D)
            p = np.exp(s - s.max())
            out[t, h] = (p / p.sum()) @ values[:end, h]
    return out


# %% g_attn_reshaped fails a1.q3.attention is attention_reshaped_not_turned
# Reshapes (T, H, D) to (H, T, D), which mixes tokens and heads, where a transpose is needed.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    q, k, v = queries.reshape(H, T, D), keys.reshape(H, S, D), values.reshape(H, S, D)
    a = q @ k.swapaxes(1, 2) / np.sqrt(D)
    a = np.where(np.tri(T, S, S - T) > 0, a, -np.inf)
    a = np.exp(a - a.max(2, keepdims=True))
    a = a / a.sum(2, keepdims=True)
    return (a @ v).reshape(T, H, D)


# %% g_attn_root_of_keys fails a1.q3.attention is attention_scale_by_keys
# Divides the scores by the root of the number of keys.
def causal_attention(queries, keys, values):
    n, S = len(queries), len(keys)
    res = np.zeros(queries.shape)
    for i in range(n):
        last = S - n + i + 1
        sc = (keys[:last] * queries[i]).sum(axis=2) / np.sqrt(keys.shape[0])
        sc = np.exp(sc - sc.max(axis=0))
        sc = sc / sc.sum(axis=0)
        res[i] = (sc[:, :, None] * values[:last]).sum(axis=0)
    return res


# %% g_attn_softmax_over_all fails a1.q3.attention is attention_one_sum_for_all
# Divides by the sum of all exponentials of a head, so the rows do not sum to 1.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    out = []
    for h in range(H):
        scores = queries[:, h, :].dot(keys[:, h, :].T) / D**0.5
        for i in range(T):
            scores[i, S - T + i + 1 :] = -np.inf
        weights = np.exp(scores - np.max(scores))
        weights /= np.sum(weights)
        out.append(weights.dot(values[:, h, :]))
    return np.stack(out, axis=1)


# %% g_attn_times_root fails a1.q3.attention is attention_multiplied_by_the_root
# Multiplies the scores by the root of D.
def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[2]
    scores = np.einsum("qhd,khd->hqk", queries, keys) * np.sqrt(D)
    future = np.arange(S)[None, :] > (np.arange(T) + S - T)[:, None]
    scores[:, future] = -np.inf
    scores -= scores.max(axis=2, keepdims=True)
    w = np.exp(scores)
    return np.einsum("hqk,khd->qhd", w / w.sum(axis=2, keepdims=True), values)


# %% g_bytes_without_tokens fails a1.q8.bytes is bytes_of_one_token
# Forgets to multiply by the tokens.
def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    per_layer = n_embd + n_embd  # a key and a value
    return n_layer * per_layer * bytes_per_number


# %% g_cache_half_precision fails a1.q5.chunks is cache_half_precision
# Keeps keys and values in half precision.
def new_cache(params, n_head, capacity):
    d = params["wte"].shape[1] // n_head
    shape = (count_layers(params), capacity, n_head, d)
    return {"keys": np.empty(shape, dtype=np.float16), "values": np.empty(shape, dtype=np.float16), "length": 0}


# %% g_cache_hidden_states fails a1.q5.once is cache_keeps_the_inputs
# Keeps the layers' inputs and computes the keys and values of all of them again at each feed.
def new_cache(params, n_head, capacity):
    return {"inputs": [None] * count_layers(params), "length": 0}


def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    h = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    old = cache["inputs"][layer]
    seen = h if old is None else np.vstack([old[: cache["length"]], h])
    cache["inputs"][layer] = seen
    q, k, v = np.split(seen @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"], 3, axis=1)
    q = q[-len(x) :]
    q, k, v = (m.reshape(len(m), n_head, -1) for m in (q, k, v))
    return (
        causal_attention(q, k, v).reshape(x.shape) @ params[p + "attn.c_proj.weight"] + params[p + "attn.c_proj.bias"]
    )


# %% g_cache_keys_are_values fails a1.q5.chunks is cache_keys_are_the_values
# Keys and values are one and the same array, by a chained assignment.
def new_cache(params, n_head, capacity):
    size = params["wte"].shape[1] // n_head
    keys = values = np.zeros((count_layers(params), capacity, n_head, size))
    return {"keys": keys, "values": values, "length": 0}


# %% g_cache_layers_alias fails a1.q5.chunks is cache_one_list_for_all_layers also cache_one_layer
# All layers share one list, by multiplying a list of lists.
def new_cache(params, n_head, capacity):
    return {"keys": [[]] * count_layers(params), "values": [[]] * count_layers(params), "length": 0}


def store(cache, layer, keys, values):
    cache["keys"][layer].extend(keys)
    cache["values"][layer].extend(values)
    return np.array(cache["keys"][layer]), np.array(cache["values"][layer])


def rollback(cache, length):
    if length < cache["length"]:
        cache["length"] = length
        for kept in cache["keys"] + cache["values"]:
            del kept[length:]


# %% g_cache_length_by_layer fails a1.q5.chunks is cache_length_grows_by_layer
# Advances the length inside the loop over the layers, once for each layer.
def new_cache(params, n_head, capacity):
    L, C = count_layers(params), params["wte"].shape[1]
    room = L * (capacity + 1)
    return {"k": np.zeros((L, room, n_head, C // n_head)), "v": np.zeros((L, room, n_head, C // n_head)), "n": 0}


def forward_cached(params, n_head, tokens, cache):
    x = params["wte"][tokens] + params["wpe"][np.arange(cache["n"], cache["n"] + len(tokens)) % len(params["wpe"])]
    T, C = x.shape
    for i in range(count_layers(params)):
        a = layer_norm(x, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"])
        q, k, v = np.split(a @ params[f"h.{i}.attn.c_attn.weight"] + params[f"h.{i}.attn.c_attn.bias"], 3, axis=1)
        n = cache["n"]
        cache["k"][i, n : n + T] = k.reshape(T, n_head, -1)
        cache["v"][i, n : n + T] = v.reshape(T, n_head, -1)
        o = causal_attention(q.reshape(T, n_head, -1), cache["k"][i, : n + T], cache["v"][i, : n + T]).reshape(T, C)
        x = x + o @ params[f"h.{i}.attn.c_proj.weight"] + params[f"h.{i}.attn.c_proj.bias"]
        x = x + mlp_block(params, i, x)
        cache["n"] += T
    return unembed(params, x)


def rollback(cache, length):
    cache["n"] = min(cache["n"], length)


# %% g_cache_mask_only_at_first fails a1.q5.chunks is cache_block_sees_itself_whole
# Masks only the first feed: later ones see everything.
def unmasked(q, k, v):
    s = np.einsum("thd,shd->hts", q, k) / np.sqrt(q.shape[-1])
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", w / w.sum(-1, keepdims=True), v)


def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    h = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    h = h @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"]
    q, k, v = (m.reshape(len(x), n_head, -1) for m in np.split(h, 3, axis=1))
    k, v = store(cache, layer, k, v)
    chosen = causal_attention if cache["length"] == 0 else unmasked
    return chosen(q, k, v).reshape(x.shape) @ params[p + "attn.c_proj.weight"] + params[p + "attn.c_proj.bias"]


# %% g_cache_new_in_front fails a1.q5.chunks is cache_new_in_front
# Puts the new keys and values in front of the old ones.
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


# %% g_forward_batch_axis fails a1.q4.logits is forward_batch_axis
# Returns the logits with a batch axis in front.
def forward(params, n_head, tokens):
    cache = new_cache(params, n_head, len(tokens))
    logits = forward_cached(params, n_head, tokens, cache)
    return logits[np.newaxis]


# %% g_forward_fc_bias_missing fails a1.q4.logits is forward_without_first_mlp_bias
# Forgets the bias of the MLP's first matrix.
def mlp_block(params, layer, x):
    def get(name):
        return params["h." + str(layer) + "." + name]

    y = layer_norm(x, get("ln_2.weight"), get("ln_2.bias"))
    y = gelu(y @ get("mlp.c_fc.weight"))
    return y @ get("mlp.c_proj.weight") + get("mlp.c_proj.bias")


# %% g_forward_gelu_last fails a1.q4.logits is forward_activation_last
# Applies gelu to the output of the MLP's second matrix instead of the first's.
def mlp_block(params, layer, x):
    pre = f"h.{layer}."
    h = layer_norm(x, params[pre + "ln_2.weight"], params[pre + "ln_2.bias"])
    h = h @ params[pre + "mlp.c_fc.weight"] + params[pre + "mlp.c_fc.bias"]
    h = h @ params[pre + "mlp.c_proj.weight"] + params[pre + "mlp.c_proj.bias"]
    return gelu(h)


# %% g_forward_heads_not_turned_back fails a1.q4.logits is forward_heads_not_turned_back
# Reshapes the heads' outputs (H, T, D) to (T, C) without turning them back first.
def run_attention(params, i, x, n_head):
    T, C = x.shape
    qkv = x @ params[f"h.{i}.attn.c_attn.weight"] + params[f"h.{i}.attn.c_attn.bias"]
    q, k, v = np.split(qkv, 3, axis=1)
    out = causal_attention(q.reshape(T, n_head, -1), k.reshape(T, n_head, -1), v.reshape(T, n_head, -1))
    heads = np.stack([out[:, h] for h in range(n_head)])
    merged = heads.reshape(T, C)
    return merged @ params[f"h.{i}.attn.c_proj.weight"] + params[f"h.{i}.attn.c_proj.bias"]


def forward(params, n_head, tokens):
    x = params["wte"][list(tokens)] + params["wpe"][np.arange(len(tokens))]
    for i in range(count_layers(params)):
        x = x + run_attention(
            params, i, layer_norm(x, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"]), n_head
        )
        x = x + mlp_block(params, i, x)
    return unembed(params, x)


# %% g_forward_last_layer_skipped fails a1.q4.logits is forward_without_last_layer
# Counts the layers by the largest index, one too few, so the last layer is never run.
def count_layers(params):
    return max(int(name.split(".")[1]) for name in params if name.startswith("h."))


def forward(params, n_head, tokens):
    x = params["wte"][tokens] + params["wpe"][: len(tokens)]
    T, C = x.shape
    for i in range(count_layers(params)):

        def p(name, i=i):
            return params[f"h.{i}.{name}"]

        a = layer_norm(x, p("ln_1.weight"), p("ln_1.bias")) @ p("attn.c_attn.weight") + p("attn.c_attn.bias")
        q, k, v = a[:, :C], a[:, C : 2 * C], a[:, 2 * C :]
        q, k, v = (m.reshape(T, n_head, C // n_head) for m in (q, k, v))
        x = x + causal_attention(q, k, v).reshape(T, C) @ p("attn.c_proj.weight") + p("attn.c_proj.bias")
        h = gelu(layer_norm(x, p("ln_2.weight"), p("ln_2.bias")) @ p("mlp.c_fc.weight") + p("mlp.c_fc.bias"))
        x = x + h @ p("mlp.c_proj.weight") + p("mlp.c_proj.bias")
    return layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T


# %% g_forward_log_softmax fails a1.q4.logits is forward_returns_log_probabilities
# Returns the logarithms of the probabilities.
def unembed(params, x):
    logits = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


# %% g_forward_mlp_not_normed fails a1.q4.logits is forward_no_mlp_norm
# Feeds the MLP with x itself; ln_2 is never used.
def mlp_block(params, layer, x):
    w1, b1 = params[f"h.{layer}.mlp.c_fc.weight"], params[f"h.{layer}.mlp.c_fc.bias"]
    w2, b2 = params[f"h.{layer}.mlp.c_proj.weight"], params[f"h.{layer}.mlp.c_proj.bias"]
    return np.dot(gelu(np.dot(x, w1) + b1), w2) + b2


# %% g_forward_position_each_layer fails a1.q4.logits is forward_positions_in_each_layer
# Adds the position embeddings again in front of each layer.
def forward_cached(params, n_head, tokens, cache):
    first = cache["length"]
    where = params["wpe"][first : first + len(tokens)]
    x = params["wte"][np.array(tokens, dtype=int)]
    for n in range(count_layers(params)):
        x = x + where
        x = x + attention_block(params, n, x, n_head, cache)
        x = x + mlp_block(params, n, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% g_gelu_erf fails a1.q2.gelu is gelu_exact
# Uses the normal distribution function itself.
import math


def gelu(x):
    cdf = np.vectorize(lambda value: 0.5 * (1 + math.erf(value / math.sqrt(2))), otypes=[float])
    return x * cdf(x)


# %% g_gelu_precedence fails a1.q2.gelu is gelu_brackets
# Lacks a pair of brackets: x/2 multiplies 1 only, and the tanh is added.
def gelu(x):
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * np.power(x, 3))
    return x / 2 * 1 + np.tanh(inner)


# %% g_gelu_silu fails a1.q2.gelu is gelu_silu
# Uses the swish function, x * sigmoid(x).
def gelu(x):
    return x / (1 + np.exp(-x))


# %% g_gelu_three_x fails a1.q2.gelu is gelu_times_three
# Multiplies x by 3 where its third power is wanted.
def gelu(x):
    a = np.sqrt(2 / np.pi)
    return 0.5 * x * (1 + np.tanh(a * (x + 0.044715 * 3 * x)))


# %% g_generate_appends_to_prompt fails a1.q7.greedy is changes_its_arguments
# Appends the new tokens to the caller's prompt.
def generate(params, n_head, prompt, max_tokens):
    start = len(prompt)
    cache = new_cache(params, n_head, start + max_tokens)
    text = prompt
    fed = 0
    while len(text) < start + max_tokens:
        logits = forward_cached(params, n_head, text[fed:], cache)
        fed = len(text)
        text.append(int(logits[-1].argmax()))
    return text[start:]


# %% g_generate_argmax_of_matrix fails a1.q7.greedy is generate_argmax_of_all_rows
# Takes the argmax of the whole matrix of logits, not of a row.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    answer = []
    tokens = prompt
    for _ in range(max_tokens):
        logits = forward_cached(params, n_head, tokens, cache)
        best = int(np.argmax(logits)) % logits.shape[1]
        answer.append(best)
        tokens = [best]
    return answer


# %% g_generate_cache_too_small fails a1.q7.greedy
# Makes a cache with room for the new tokens only, so the prompt does not fit.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, max_tokens)
    row = forward_cached(params, n_head, prompt, cache)[-1]
    text = []
    for _ in range(max_tokens):
        token = int(np.argmax(row))
        text.append(token)
        if len(text) < max_tokens:
            row = forward_cached(params, n_head, [token], cache)[-1]
    return text


# %% g_generate_empties_the_cache fails a1.q7.cost is generate_without_cache
# Rolls back to nothing and feeds the whole text for each token.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    text = list(prompt)
    for _ in range(max_tokens):
        rollback(cache, 0)
        logits = forward_cached(params, n_head, text, cache)
        text.append(int(np.argmax(logits[-1])))
    return text[len(prompt) :]


# %% g_norm_clamped fails a1.q1.small is layer_norm_epsilon_as_floor
# Clamps the deviation to epsilon instead of adding epsilon to the variance.
def layer_norm(x, weight, bias):
    mu = np.mean(x, axis=1, keepdims=True)
    sigma = np.maximum(np.std(x, axis=1, keepdims=True), EPSILON)
    return weight * (x - mu) / sigma + bias


# %% g_norm_in_place fails a1.q1.rows is changes_its_arguments
# Subtracts the mean in place, so the caller's array is changed.
def layer_norm(x, weight, bias):
    x -= np.mean(x, axis=-1, keepdims=True)
    x /= np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON)
    return x * weight + bias


# %% g_norm_no_keepdims fails a1.q1.rows is layer_norm_no_keepdims
# Forgets keepdims, so the means are subtracted along the wrong axis or do not fit.
def layer_norm(x, weight, bias):
    mu = x.mean(axis=-1)
    var = x.var(axis=-1)
    return (x - mu) / np.sqrt(var + EPSILON) * weight + bias


# %% g_norm_one_plus_weight fails a1.q1.rows is layer_norm_one_plus_weight
# Scales by one plus the weight, as some other models do.
def layer_norm(x, weight, bias):
    out = np.empty(np.shape(x))
    for i, row in enumerate(x):
        centred = row - row.sum() / len(row)
        out[i] = centred / np.sqrt((centred @ centred) / len(row) + EPSILON) * (1 + weight) + bias
    return out


# %% g_norm_sample_variance fails a1.q1.rows is layer_norm_unbiased
# Divides the squares by one less than the number of channels.
def layer_norm(x, weight, bias):
    result = []
    for row in x:
        m = sum(row) / len(row)
        v = sum((value - m) ** 2 for value in row) / (len(row) - 1)
        result.append([(value - m) / (v + EPSILON) ** 0.5 * w + b for value, w, b in zip(row, weight, bias)])
    return np.array(result)


# %% g_norm_second_moment fails a1.q1.rows is layer_norm_second_moment
# Takes the mean of the squares for the variance, without subtracting the mean.
def layer_norm(x, weight, bias):
    n = x.shape[-1]
    mean = np.sum(x, axis=-1)[:, None] / n
    var = np.sum(x**2, axis=-1)[:, None] / n
    return weight * ((x - mean) / np.sqrt(var + EPSILON)) + bias


# %% g_rollback_pops_while_counting fails a1.q6.rollback is rollback_pops_as_it_shrinks
# Pops by a growing index from a list that shrinks.
def new_cache(params, n_head, capacity):
    return [([], []) for _ in range(count_layers(params))]


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, len(cache[0][0]))
    for i, (ks, vs) in enumerate(cache):
        h = layer_norm(x, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"])
        h = h @ params[f"h.{i}.attn.c_attn.weight"] + params[f"h.{i}.attn.c_attn.bias"]
        q, k, v = (m.reshape(len(x), n_head, -1) for m in np.split(h, 3, axis=1))
        ks += list(k)
        vs += list(v)
        a = causal_attention(q, np.array(ks), np.array(vs)).reshape(x.shape)
        x = x + a @ params[f"h.{i}.attn.c_proj.weight"] + params[f"h.{i}.attn.c_proj.bias"]
        x = x + mlp_block(params, i, x)
    return unembed(params, x)


def rollback(cache, length):
    for ks, vs in cache:
        for i in range(length, len(ks)):
            ks.pop(i)
            vs.pop(i)


# %% g_rollback_rebinds fails a1.q6.rollback is rollback_does_nothing
# Assigns shortened copies to local names, which leaves the cache as it was.
def rollback(cache, length):
    keys, values, n = cache["keys"], cache["values"], cache["length"]
    if length < n:
        keys = keys[:, :length]
        values = values[:, :length]
        n = length
    return {"keys": keys, "values": values, "length": n}


# %% g_rollback_separate_position fails a1.q6.rollback is rollback_forgets_positions
# Shortens keys and values, but not the counter its positions come from.
def new_cache(params, n_head, capacity):
    empty = np.zeros((0, n_head, params["wte"].shape[1] // n_head))
    n = count_layers(params)
    return {"k": [empty] * n, "v": [empty] * n, "next": 0}


def store(cache, layer, keys, values):
    cache["k"][layer] = np.append(cache["k"][layer], keys, axis=0)
    cache["v"][layer] = np.append(cache["v"][layer], values, axis=0)
    return cache["k"][layer], cache["v"][layer]


def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["next"])
    cache["next"] += len(tokens)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    return unembed(params, x)


def rollback(cache, length):
    cache["k"] = [k[:length] for k in cache["k"]]
    cache["v"] = [v[:length] for v in cache["v"]]


# %% g_rollback_wrong_axis fails a1.q6.rollback is rollback_wrong_axis
# Cuts the first axis, that of the layers' heads, instead of the tokens'.
def new_cache(params, n_head, capacity):
    return {"k": {}, "v": {}, "length": 0}


def store(cache, layer, keys, values):
    keys, values = keys.transpose(1, 0, 2), values.transpose(1, 0, 2)
    if layer in cache["k"]:
        keys = np.concatenate([cache["k"][layer], keys], axis=1)
        values = np.concatenate([cache["v"][layer], values], axis=1)
    cache["k"][layer], cache["v"][layer] = keys, values
    return keys.transpose(1, 0, 2), values.transpose(1, 0, 2)


def rollback(cache, length):
    for layer in cache["k"]:
        cache["k"][layer] = cache["k"][layer][:length]
        cache["v"][layer] = cache["v"][layer][:length]
    cache["length"] = min(length, cache["length"])


# %% g_rows_every_new_token_fed fails a1.q8.rows is rows_prompt_plus_new
# Counts the last token as fed, with the cache.
def forward_rows(num_prompt, num_new, cached):
    total = 0
    if num_new > 0:
        length = num_prompt
        for step in range(num_new):
            if not cached:
                total += length + step
        if cached:
            total = num_prompt + num_new
    return total


# %% g_rows_final_length fails a1.q8.rows is rows_of_the_final_text
# Counts the final length for every forward of the uncached run.
def forward_rows(num_prompt, num_new, cached):
    if cached:
        return num_prompt + num_new - 1 if num_new else 0
    return num_new * (num_prompt + num_new - 1)


# %% k_attn_columns_softmax fails a1.q3.attention is attention_softmax_over_queries also attention_sums
# Normalises along the wrong axis.
def causal_attention(queries, keys, values):
    q, k, v = np.swapaxes(queries, 0, 1), np.swapaxes(keys, 0, 1), np.swapaxes(values, 0, 1)
    w = np.matmul(q, np.swapaxes(k, 1, 2)) / np.sqrt(q.shape[2])
    T, S = w.shape[1:]
    for t in range(T):
        w[:, t, t + S - T + 1 :] = -1e9
    w = np.exp(w - w.max(axis=1, keepdims=True))
    w = w / w.sum(axis=1, keepdims=True)
    return np.swapaxes(np.matmul(w, v), 0, 1)


# %% k_attn_first_queries fails a1.q3.block is attention_unseen
# Cuts the keys to the last T, as if nothing came before.
def causal_attention(queries, keys, values):
    T = len(queries)
    keys, values = keys[-T:], values[-T:]
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    s = np.where(np.tri(T, dtype=bool), s, -np.inf)
    s = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", s / s.sum(-1, keepdims=True), values)


# %% k_attn_mask_is_zero_weight_after fails a1.q3.attention is attention_masked_after_softmax
# Takes the softmax of all scores and then drops the future's weights.
def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    out = []
    for h in range(queries.shape[1]):
        s = queries[:, h] @ keys[:, h].T / queries.shape[2] ** 0.5
        p = np.exp(s - s.max(axis=1, keepdims=True))
        p = p / p.sum(axis=1, keepdims=True)
        p = np.array([[p[i, j] if j <= S - T + i else 0.0 for j in range(S)] for i in range(T)])
        out.append(p @ values[:, h])
    return np.array(out).transpose(1, 0, 2)


# %% k_attn_negative_scores fails a1.q3.attention is attention_factor
# Weighs by distance: the sign of the scores is wrong.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    out = np.zeros_like(queries)
    for t in range(T):
        n = keys.shape[0] - T + t + 1
        for h in range(H):
            e = np.array([-(queries[t, h] * keys[s, h]).sum() / np.sqrt(D) for s in range(n)])
            e = np.exp(e - e.max())
            out[t, h] = sum(e[s] / e.sum() * values[s, h] for s in range(n))
    return out


# %% k_attn_no_mask_when_longer fails a1.q3.block is attention_future
# Masks only where there are as many queries as keys.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(D)
    if T == S:
        s = s + np.triu(np.full((T, T), -1e9), k=1)
    s = s - np.max(s, axis=-1, keepdims=True)
    p = np.exp(s)
    p = p / np.sum(p, axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", p, values)


# %% k_attn_scale_after_softmax fails a1.q3.attention is attention_sums
# Divides the weights, not the scores, by the root of D.
def causal_attention(queries, keys, values):
    T, S, D = queries.shape[0], keys.shape[0], queries.shape[-1]
    hidden = ~np.tri(T, S, S - T, dtype=bool)
    s = np.einsum("thd,shd->hts", queries, keys)
    s[:, hidden] = -np.inf
    s = np.exp(s - s.max(-1, keepdims=True))
    s = s / s.sum(-1, keepdims=True) / np.sqrt(D)
    return np.einsum("hts,shd->thd", s, values)


# %% k_attn_weights_of_keys fails a1.q3.attention is attention_values
# Weighs the keys instead of the values.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    result = np.zeros((T, H, D))
    for head in range(H):
        K = keys[:, head]
        logits = queries[:, head] @ K.T / np.sqrt(D)
        logits[np.arange(S) > np.arange(T)[:, None] + (S - T)] = -np.inf
        P = np.exp(logits - logits.max(1)[:, None])
        P = P / P.sum(1)[:, None]
        result[:, head] = P @ K
    return result


# %% k_attn_window fails a1.q3.attention is attention_unseen
# Sees only the last four tokens.
def causal_attention(queries, keys, values):
    out = np.empty(queries.shape)
    shift = keys.shape[0] - queries.shape[0]
    for t, q in enumerate(queries):
        end = shift + t + 1
        begin = max(0, end - 4)
        s = np.einsum("hd,shd->sh", q, keys[begin:end]) / np.sqrt(q.shape[-1])
        s = np.exp(s - s.max(0))
        out[t] = np.einsum("sh,shd->hd", s / s.sum(0), values[begin:end])
    return out


# %% k_bytes_in_kibibytes fails a1.q8.bytes is bytes_times_a_number
# Returns kibibytes.
def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    keys = n_layer * num_tokens * n_embd * bytes_per_number
    return 2 * keys / 1024


# %% k_cache_default_argument fails a1.q5.chunks is cache_shared
# Keeps the lists in a default argument, so all caches share them.
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


# %% k_cache_last_piece_only fails a1.q5.chunks is cache_third_piece
# Keeps only the piece before, not all of them.
def new_cache(params, n_head, capacity):
    return {"previous": {}, "length": 0}


def store(cache, layer, keys, values):
    old = cache["previous"].get(layer)
    cache["previous"][layer] = (keys, values)
    if old is None:
        return keys, values
    return np.concatenate([old[0], keys]), np.concatenate([old[1], values])


def rollback(cache, length):
    extra = cache["length"] - length
    if extra > 0:
        cache["previous"] = {n: (k[:-extra], v[:-extra]) for n, (k, v) in cache["previous"].items()}
        cache["length"] = length


# %% k_cache_of_all_logits fails a1.q5.once is cache_recomputed
# Remembers the tokens and runs all of them each time.
def new_cache(params, n_head, capacity):
    return {"tokens": []}


def whole(params, n_head, tokens):
    x = params["wte"][tokens] + params["wpe"][: len(tokens)]
    for i in range(count_layers(params)):
        h = layer_norm(x, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"])
        h = h @ params[f"h.{i}.attn.c_attn.weight"] + params[f"h.{i}.attn.c_attn.bias"]
        q, k, v = (m.reshape(len(x), n_head, -1) for m in np.split(h, 3, axis=1))
        h = causal_attention(q, k, v).reshape(x.shape)
        x = x + h @ params[f"h.{i}.attn.c_proj.weight"] + params[f"h.{i}.attn.c_proj.bias"]
        x = x + mlp_block(params, i, x)
    return unembed(params, x)


def forward(params, n_head, tokens):
    return whole(params, n_head, tokens)


def forward_cached(params, n_head, tokens, cache):
    cache["tokens"] = cache["tokens"] + list(tokens)
    return whole(params, n_head, cache["tokens"])[-len(tokens) :]


def rollback(cache, length):
    cache["tokens"] = cache["tokens"][:length]


# %% k_cache_only_last_logits fails a1.q5.chunks is forward_last_row_only also cache_shape
# Returns the logits of the last token alone once the cache holds something.
def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] += len(tokens)
    logits = unembed(params, x)
    return logits if start == 0 else logits[-1:]


# %% k_cache_positions_of_the_end fails a1.q5.chunks is cache_second_piece
# Reads the position after the new tokens have been counted.
def forward_cached(params, n_head, tokens, cache):
    before = cache["length"]
    seen = cache.setdefault("seen", [])
    del seen[before:]
    seen.extend(tokens)
    x = embed(params, tokens, min(len(seen), len(params["wpe"]) - len(tokens)) if before else 0)
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
    cache["length"] = len(seen)
    return unembed(params, x)


# %% k_cache_values_after_keys fails a1.q5.chunks is cache_second_piece
# Stores the keys where the values belong and the other way round.
def store(cache, layer, keys, values):
    n, m = cache["length"], len(keys)
    cache["values"][layer, n : n + m], cache["keys"][layer, n : n + m] = keys, values
    old_k, old_v = cache["keys"][layer, :n], cache["values"][layer, :n]
    return np.concatenate([old_k, keys]), np.concatenate([old_v, values])


# %% k_cache_whole_capacity_seen fails a1.q5.chunks
# Attends to the empty slots of the cache, too, when a feed has one token.
def store(cache, layer, keys, values):
    n = cache["length"]
    cache["keys"][layer, n : n + len(keys)] = keys
    cache["values"][layer, n : n + len(keys)] = values
    if len(keys) == 1:
        return cache["keys"][layer], cache["values"][layer]
    return cache["keys"][layer, : n + len(keys)], cache["values"][layer, : n + len(keys)]


# %% k_forward_attention_twice_normed fails a1.q4.logits is forward_ends
# Norms the attention's output once more before it is added.
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        a = attention_block(params, i, x, n_head, cache)
        x = x + layer_norm(a, params[f"h.{i}.ln_1.weight"], params[f"h.{i}.ln_1.bias"])
        x = x + mlp_block(params, i, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% k_forward_changes_wpe fails a1.q4.logits is changes_its_arguments
# Adds the token embeddings onto a view of wpe, which changes the parameters.
def embed(params, tokens, start):
    x = params["wpe"][start : start + len(tokens)]
    x += params["wte"][np.asarray(tokens)]
    return x


# %% k_forward_layers_backwards fails a1.q4.logits is forward_layers
# Runs the layers from the last to the first.
def forward(params, n_head, tokens):
    cache = new_cache(params, n_head, len(tokens))
    h = embed(params, tokens, 0)
    layer = count_layers(params)
    while layer > 0:
        layer -= 1
        h = h + attention_block(params, layer, h, n_head, cache)
        h = h + mlp_block(params, layer, h)
    return unembed(params, h)


# %% k_forward_layers_by_name fails a1.q4.logits is forward_first_layer_only
# Sorts the layers' names by what they begin with and finds only one layer.
def count_layers(params):
    return len({name[:2] for name in params if name.startswith("h.")})


# %% k_forward_norm_without_weights fails a1.q4.logits is forward_ends
# Uses the last norm without its weight and bias.
def unembed(params, x):
    size = x.shape[-1]
    return np.matmul(layer_norm(x, np.ones(size), np.zeros(size)), params["wte"].transpose())


# %% k_forward_projection_without_bias fails a1.q4.logits is forward_without_projection_bias
# Forgets the bias of the attention's output projection.
def attention_block(params, layer, x, n_head, cache):
    w = {name.split(f"h.{layer}.", 1)[1]: a for name, a in params.items() if name.startswith(f"h.{layer}.")}
    y = layer_norm(x, w["ln_1.weight"], w["ln_1.bias"]) @ w["attn.c_attn.weight"] + w["attn.c_attn.bias"]
    C = x.shape[1]
    split = [y[:, i * C : (i + 1) * C].reshape(-1, n_head, C // n_head) for i in range(3)]
    k, v = store(cache, layer, split[1], split[2])
    return causal_attention(split[0], k, v).reshape(-1, C) @ w["attn.c_proj.weight"]


# %% k_forward_queries_and_keys_swapped fails a1.q4.logits is forward_keys_first
# Takes c_attn's columns to be keys, queries, values.
def attention_block(params, layer, x, n_head, cache):
    C = x.shape[1]
    a = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    a = a @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    k, q, v = a[:, :C], a[:, C : 2 * C], a[:, 2 * C :]
    q, k, v = [m.reshape(len(x), n_head, C // n_head) for m in (q, k, v)]
    k, v = store(cache, layer, k, v)
    o = causal_attention(q, k, v).reshape(len(x), C)
    return o @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]


# %% k_forward_residual_from_embedding fails a1.q4.logits is forward_attention
# Adds each layer's output to the embeddings instead of to what the layers before made.
def forward(params, n_head, tokens):
    x0 = params["wte"][tokens] + params["wpe"][: len(tokens)]
    x = x0
    cache = new_cache(params, n_head, len(tokens))
    for i in range(count_layers(params)):
        y = x + attention_block(params, i, x, n_head, cache)
        x = x0 + mlp_block(params, i, y)
    return unembed(params, x)


# %% k_forward_tokens_of_wpe fails a1.q4.logits is forward_ends
# Looks positions up by token and tokens by position.
def embed(params, tokens, start):
    vectors = []
    for i, token in enumerate(tokens):
        vectors.append(params["wte"][start + i] + params["wpe"][token % len(params["wpe"])])
    return np.array(vectors)


# %% k_forward_unembed_by_wpe fails a1.q4.logits is forward_ends
# Forgets the last norm and normalises by ln_2 of the last layer again.
def unembed(params, x):
    last = count_layers(params) - 1
    x = layer_norm(x, params[f"h.{last}.ln_2.weight"], params[f"h.{last}.ln_2.bias"])
    return x @ params["wte"].T


# %% k_gelu_minus fails a1.q2.gelu is gelu_inside
# Subtracts the tanh, which mirrors the curve.
def gelu(x):
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x))
    return (x - x * t) / 2


# %% k_gelu_of_positive_only fails a1.q2.gelu is gelu_negative
# Cuts negative values off to save time.
def gelu(x):
    x = np.maximum(x, 0)
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# %% k_gelu_root_of_two_over_pi_wrong fails a1.q2.gelu is gelu_inside
# Computes sqrt(2) / pi.
def gelu(x):
    c = np.sqrt(2) / np.pi
    u = c * x * (1 + 0.044715 * x * x)
    return x * (1 + np.tanh(u)) / 2


# %% k_gelu_tanh_of_x_only fails a1.q2.gelu is gelu_ends
# Puts the root inside the brackets with x and leaves the cube's factor outside of the tanh.
def gelu(x):
    root = (2 / np.pi) ** 0.5
    return 0.5 * x * (1 + np.tanh(root * x) + 0.044715 * x**3)


# %% k_generate_never_feeds_back fails a1.q7.greedy is generate_later_tokens
# Reads all tokens from the prompt's last row.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    logits = forward_cached(params, n_head, prompt, cache)
    return [int(np.argmax(logits[-1])) for _ in range(max_tokens)]


# %% k_generate_prompt_repeated_by_one fails a1.q7.greedy
# Leaves the last token of the prompt out of the prefill and never feeds it.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    context = list(prompt[:-1]) or list(prompt)
    answer = []
    for _ in range(max_tokens):
        scores = forward_cached(params, n_head, context, cache)[-1]
        token = int(np.argmax(scores))
        context = [token]
        answer.append(token)
    return answer


# %% k_generate_second_best fails a1.q7.greedy is generate_first_token
# Sorts upwards and takes the last but one entry.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    out, feed = [], list(prompt)
    for _ in range(max_tokens):
        order = np.argsort(forward_cached(params, n_head, feed, cache)[-1])
        feed = [int(order[-2])]
        out.extend(feed)
    return out


# %% k_generate_stops_at_zero fails a1.q7.greedy is generate_too_short
# Stops at token 0, which it takes for the end of the text.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    new, feed = [], prompt
    for _ in range(max_tokens):
        token = int(forward_cached(params, n_head, feed, cache)[-1].argmax())
        if not token:
            break
        new.append(token)
        feed = [token]
    return new


# %% k_norm_bias_before_weight fails a1.q1.rows is norm_shift
# Adds the bias before it multiplies by the weight.
def layer_norm(x, weight, bias):
    z = (x - np.mean(x, -1, keepdims=True)) / (np.var(x, -1, keepdims=True) + EPSILON) ** 0.5
    z = z + bias
    return z * weight


# %% k_norm_epsilon_only_for_zero fails a1.q1.small
# Uses epsilon only where the variance is exactly 0.
def layer_norm(x, weight, bias):
    out = []
    for row in np.asarray(x, dtype=float):
        var = np.var(row)
        if var == 0:
            var = EPSILON
        out.append((row - np.mean(row)) / np.sqrt(var))
    return np.array(out) * weight + bias


# %% k_norm_mean_absolute fails a1.q1.rows is norm_deviation
# Divides by the mean absolute deviation.
def layer_norm(x, weight, bias):
    d = x - np.mean(x, axis=-1, keepdims=True)
    spread = np.mean(np.abs(d), axis=-1, keepdims=True)
    return d / (spread + EPSILON) * weight + bias


# %% k_norm_rows_and_columns_swapped fails a1.q1.rows is layer_norm_over_tokens
# Normalises the columns of the transposed array and forgets to turn it back in the statistics.
def layer_norm(x, weight, bias):
    m = np.array([np.mean(column) for column in x.T])
    s = np.array([np.var(column) for column in x.T])
    return (x - m) / np.sqrt(s + EPSILON) * weight + bias


# %% k_norm_to_unit_length fails a1.q1.rows is norm_deviation
# Divides by the length of the centred row, without the root of the number of channels.
def layer_norm(x, weight, bias):
    d = x - x.mean(1)[:, None]
    norms = np.linalg.norm(d, axis=1)[:, None]
    return d / np.sqrt(norms**2 + EPSILON) * weight + bias


# %% k_norm_without_weight fails a1.q1.rows is layer_norm_no_weight
# Forgets the weight.
def layer_norm(x, weight, bias):
    rows = [(r - np.average(r)) / np.sqrt(np.average((r - np.average(r)) ** 2) + EPSILON) for r in x]
    return np.stack(rows) + bias


# %% k_rollback_all_but_one_layer fails a1.q6.rollback is rollback_first_layer_only
# Goes through the layers but the last, which keeps its tokens.
def new_cache(params, n_head, capacity):
    return {"layers": [{"k": [], "v": []} for _ in range(count_layers(params))], "length": 0}


def store(cache, layer, keys, values):
    slot = cache["layers"][layer]
    slot["k"] += list(keys)
    slot["v"] += list(values)
    return np.stack(slot["k"]), np.stack(slot["v"])


def rollback(cache, length):
    if length >= cache["length"]:
        return
    for i in range(len(cache["layers"]) - 1):
        cache["layers"][i]["k"] = cache["layers"][i]["k"][:length]
        cache["layers"][i]["v"] = cache["layers"][i]["v"][:length]
    cache["length"] = length


# %% k_rollback_index_inclusive fails a1.q6.rollback is rollback_one_too_many
# Takes the length for the index of the last token kept.
def new_cache(params, n_head, capacity):
    return {"k": {}, "v": {}, "length": 0}


def store(cache, layer, keys, values):
    for name, new in (("k", keys), ("v", values)):
        old = cache[name].get(layer)
        cache[name][layer] = new if old is None else np.vstack([old, new])
    return cache["k"][layer], cache["v"][layer]


def rollback(cache, length):
    end = length + 1
    if end < cache["length"]:
        for name in ("k", "v"):
            cache[name] = {layer: a[:end] for layer, a in cache[name].items()}
        cache["length"] = end


# %% k_rollback_keeps_the_end fails a1.q6.rollback
# Keeps the last tokens instead of the first.
def rollback(cache, length):
    n = cache["length"]
    if length < n:
        cache["keys"][:, :length] = cache["keys"][:, n - length : n].copy()
        cache["values"][:, :length] = cache["values"][:, n - length : n].copy()
        cache["length"] = length


# %% k_rollback_negative_slice fails a1.q6.rollback is rollback_of_nothing
# Deletes from the end by a negative slice, which deletes everything when nothing is to go.
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


# %% k_rows_branches_swapped fails a1.q8.rows is rows_swapped
# Has the two cases the wrong way round.
def forward_rows(num_prompt, num_new, cached):
    if not num_new:
        return 0
    return sum(range(num_prompt, num_prompt + num_new)) if cached else num_prompt + num_new - 1


# %% k_rows_uncached_of_new_only fails a1.q8.rows is rows_without_a_cache
# Without a cache, counts only the new tokens' part of each forward.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    rows = num_prompt
    for k in range(1, num_new):
        rows += 1 if cached else k
    return rows


# %% m_attn_causal_by_blocks fails a1.q3.attention is attention_unseen
# Compares positions with >= the wrong way, so that the second half of the queries sees only itself.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    out = np.zeros((T, H, D))
    for t in range(T):
        end = S - T + t + 1
        begin = end - 1 if t >= T / 2 else 0
        for h in range(H):
            e = np.exp((keys[begin:end, h] @ queries[t, h]) / np.sqrt(D))
            out[t, h] = (e / e.sum()) @ values[begin:end, h]
    return out


# %% m_attn_first_token_hidden fails a1.q3.attention is attention_unseen
# Starts its slices at 1, so the first token is never seen (but by itself).
def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[2]
    res = np.empty(queries.shape)
    for i in range(T):
        stop = S - T + i + 1
        start = 1 if stop > 1 else 0
        for h in range(queries.shape[1]):
            a = keys[start:stop, h] @ queries[i, h] / D**0.5
            a = np.exp(a - a.max())
            res[i, h] = a @ values[start:stop, h] / a.sum()
    return res


# %% m_attn_mean_of_heads fails a1.q3.attention is attention_weights
# Averages the weights of all heads and uses them for each.
def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    s[:, ~(np.tri(T, S, S - T) > 0)] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    p = (p / p.sum(-1, keepdims=True)).mean(0)
    return np.einsum("ts,shd->thd", p, values)


# %% m_attn_softmax_twice fails a1.q3.attention is attention_weights
# Takes the softmax of the softmax.
def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    visible = np.tri(T, S, S - T) > 0
    w = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[-1])
    for _ in range(2):
        w = np.where(visible, w, -np.inf)
        w = np.exp(w - w.max(-1, keepdims=True))
        w = w / w.sum(-1, keepdims=True)
    return np.einsum("hts,shd->thd", w, values)


# %% m_bytes_in_heads fails a1.q8.bytes
# Counts three numbers for a key and its value, for a reason of its own.
def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return n_layer * n_embd * num_tokens * bytes_per_number * 2 / 2 * 3


# %% m_cache_old_values_halved fails a1.q5.chunks
# Adds new keys onto the old ones' slot when a piece has one token.
def store(cache, layer, keys, values):
    n, m = cache["length"], len(keys)
    at = max(0, n - 1) if m == 1 and n else n
    cache["keys"][layer, n : n + m] = keys
    cache["values"][layer, at : at + m] = values
    return cache["keys"][layer, : n + m], cache["values"][layer, : n + m]


# %% m_cache_position_of_pieces fails a1.q5.chunks
# Counts pieces, not tokens, for the positions.
def forward_cached(params, n_head, tokens, cache):
    pieces = cache.get("pieces", 0)
    x = embed(params, tokens, pieces)
    cache["pieces"] = pieces + 1
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


def rollback(cache, length):
    cache["length"] = min(cache["length"], length)
    cache["pieces"] = min(cache.get("pieces", 0), length)


# %% m_cache_reversed_pieces fails a1.q5.chunks is cache_third_piece
# Keeps a list of pieces and joins them from the newest to the oldest once there are more than two.
def new_cache(params, n_head, capacity):
    return {"pieces": [[] for _ in range(count_layers(params))], "length": 0}


def store(cache, layer, keys, values):
    cache["pieces"][layer].append((keys, values))
    pieces = cache["pieces"][layer]
    if len(pieces) > 2:
        pieces = [pieces[-2], *pieces[:-2], pieces[-1]]
        pieces = pieces[1:-1] + [pieces[-1]]
    return np.concatenate([k for k, _ in pieces]), np.concatenate([v for _, v in pieces])


# %% m_forward_attention_bias_of_layer_zero fails a1.q4.logits is forward_layers
# Reads c_attn's weights from layer 0 always.
def attention_block(params, layer, x, n_head, cache):
    y = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    y = y @ params["h.0.attn.c_attn.weight"] + params["h.0.attn.c_attn.bias"]
    q, k, v = (part.reshape(len(x), n_head, -1) for part in np.split(y, 3, axis=1))
    k, v = store(cache, layer, k, v)
    z = causal_attention(q, k, v).reshape(len(x), -1)
    return z @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]


# %% m_forward_final_norm_in_loop fails a1.q4.logits is forward_layers
# Applies the last norm after each layer.
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
        x = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"])
    cache["length"] += len(tokens)
    return x @ params["wte"].T


# %% m_forward_gelu_in_attention fails a1.q4.logits is forward_attention
# Applies gelu to the attention's output.
def attention_block(params, layer, x, n_head, cache):
    p = {k[len(f"h.{layer}.") :]: v for k, v in params.items() if k.startswith(f"h.{layer}.")}
    y = layer_norm(x, p["ln_1.weight"], p["ln_1.bias"]) @ p["attn.c_attn.weight"] + p["attn.c_attn.bias"]
    q, k, v = (part.reshape(len(x), n_head, -1) for part in np.split(y, 3, axis=1))
    k, v = store(cache, layer, k, v)
    z = causal_attention(q, k, v).reshape(len(x), -1)
    return gelu(z @ p["attn.c_proj.weight"] + p["attn.c_proj.bias"])


# %% m_forward_mlp_twice_added fails a1.q4.logits is forward_mlp
# Adds the MLP's input once more.
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        y = x + mlp_block(params, i, x)
        x = x + y
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% m_forward_no_wte_bias_softcap fails a1.q4.logits is forward_ends
# Squeezes the logits with tanh, as another model does.
def unembed(params, x):
    logits = layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    return 30 * np.tanh(logits / 30)


# %% m_gelu_half_inside fails a1.q2.gelu is gelu_inside
# Has x/2 inside of the tanh.
def gelu(x):
    h = x / 2
    return h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))


# %% m_gelu_one_minus fails a1.q2.gelu is gelu_outside
# Swaps the signs of both terms and returns minus the mirror image.
def gelu(x):
    return 0.5 * x * (np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)) - 1)


# %% m_gelu_sigmoid_of_inner fails a1.q2.gelu is gelu_inside
# Takes the sigmoid of the polynomial for half of one plus its tanh.
def gelu(x):
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return x / (1 + np.exp(-u))


# %% m_generate_no_repeats fails a1.q7.greedy is generate_later_tokens
# Never takes the token it took just before.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    text, feed = [], list(prompt)
    while len(text) < max_tokens:
        row = forward_cached(params, n_head, feed, cache)[-1].copy()
        if text:
            row[text[-1]] = -np.inf
        feed = [int(np.argmax(row))]
        text.append(feed[0])
    return text


# %% m_generate_random fails a1.q7.greedy
# Draws the next token instead of taking the likeliest.
def generate(params, n_head, prompt, max_tokens):
    rng = np.random.default_rng(0)
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    text, feed = [], list(prompt)
    for _ in range(max_tokens):
        row = forward_cached(params, n_head, feed, cache)[-1]
        p = np.exp(row - row.max())
        feed = [int(rng.choice(len(p), p=p / p.sum()))]
        text += feed
    return text


# %% m_norm_divides_weight fails a1.q1.rows is norm_scale
# Divides by the weight instead of multiplying.
def layer_norm(x, weight, bias):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    safe = np.where(weight == 0, 1.0, weight)
    return (x - mean) / np.sqrt(var + EPSILON) / safe + bias


# %% m_norm_median fails a1.q1.rows
# Centres on the median.
def layer_norm(x, weight, bias):
    middle = np.median(x, axis=1, keepdims=True)
    spread = np.sqrt(np.mean((x - middle) ** 2, axis=1, keepdims=True) + EPSILON)
    return (x - middle) / spread * weight + bias


# %% m_norm_subtracts_bias fails a1.q1.rows is norm_shift
# Subtracts the bias.
def layer_norm(x, weight, bias):
    out = []
    for row in x:
        m = np.mean(row)
        s = np.sqrt(np.mean((row - m) ** 2) + EPSILON)
        out.append(weight * (row - m) / s - bias)
    return np.vstack(out)


# %% m_norm_sum_not_mean fails a1.q1.rows is norm_deviation
# Forgets to divide the sum of squares by the number of channels.
def layer_norm(x, weight, bias):
    centred = x - x.sum(axis=-1, keepdims=True) / x.shape[-1]
    total = np.sum(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(total + EPSILON) * weight + bias


# %% m_rollback_only_longer_by_two fails a1.q6.rollback
# Ignores a step back of a single token.
def rollback(cache, length):
    if cache["length"] - length > 1:
        cache["length"] = length


# %% m_rollback_zero_means_all fails a1.q6.rollback
# Takes a length of 0 for no length given, and keeps everything.
def rollback(cache, length):
    if length and length < cache["length"]:
        cache["length"] = length


# %% m_rows_cached_feeds_prompt_later fails a1.q8.rows is rows_prompt_plus_new
# With a cache, counts the prompt's last token twice.
def forward_rows(num_prompt, num_new, cached):
    if num_new < 1:
        return 0
    if not cached:
        return num_new * num_prompt + num_new * (num_new - 1) // 2
    return num_prompt + 1 + (num_new - 1)


# %% m_rows_uncached_doubled fails a1.q8.rows is rows_without_a_cache
# Without a cache, counts each forward's rows once for the keys and once for the values.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    plain = sum(num_prompt + i for i in range(num_new))
    return num_prompt + num_new - 1 if cached else 2 * plain


# %% n_attn_divided_by_size fails a1.q3.attention is attention_scale_by_head_size
# Divides by D, not by its root.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    q, k, v = (a.transpose(1, 0, 2) for a in (queries, keys, values))
    att = q @ k.transpose(0, 2, 1) / D
    att = att + np.triu(np.full((T, S), -np.inf), k=S - T + 1)
    att = np.exp(att - att.max(-1, keepdims=True))
    att /= att.sum(-1, keepdims=True)
    return (att @ v).transpose(1, 0, 2)


# %% n_attn_mask_minus_hundred fails a1.q3.large
# Hides with -100, which is not little enough where scores are large.
def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[-1]
    scores = np.einsum("qhd,khd->hqk", queries, keys) / D**0.5
    scores = scores - 100 * np.triu(np.ones((T, S)), S - T + 1)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), values)


# %% n_attn_mask_times fails a1.q3.attention is attention_masked_with_zero
# Multiplies scores by the mask, so that hidden ones are 0 and still count.
def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[-1]
    mask = np.tril(np.ones((T, S)), S - T)
    scores = np.einsum("qhd,khd->hqk", queries, keys) / D**0.5 * mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), values)


# %% n_attn_no_division_by_sum fails a1.q3.attention is attention_not_divided
# Forgets to divide by the sum of the exponentials.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    out = np.zeros((T, H, D))
    for h in range(H):
        for i in range(T):
            n = S - T + i + 1
            s = (keys[:n, h] * queries[i, h]).sum(-1) / np.sqrt(D)
            out[i, h] = (np.exp(s - s.max())[:, None] * values[:n, h]).sum(0)
    return out


# %% n_attn_query_alone_when_one fails a1.q3.block is attention_mask_top_left
# With one query it looks at the first key only: it takes T for S.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    out = np.zeros((T, H, D))
    for t in range(T):
        for h in range(H):
            s = np.array([queries[t, h] @ keys[j, h] for j in range(t + 1)]) / np.sqrt(D)
            p = np.exp(s - max(s))
            p = p / sum(p)
            out[t, h] = sum(p[j] * values[j, h] for j in range(t + 1))
    return out


# %% n_attn_scale_of_all_channels fails a1.q3.attention is attention_scale_by_all_channels
# Divides by the root of H D instead of D.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    res = np.zeros((T, H, D))
    for h in range(H):
        s = queries[:, h] @ keys[:, h].T / np.sqrt(H * D)
        s[np.arange(S)[None, :] > np.arange(S - T, S)[:, None]] = -np.inf
        s = np.exp(s - s.max(1, keepdims=True))
        res[:, h] = s / s.sum(1, keepdims=True) @ values[:, h]
    return res


# %% n_attn_sees_one_more fails a1.q3.attention is attention_one_ahead
# Each token sees the one after it too.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = keys.shape[0]
    out = np.zeros_like(queries, dtype=float)
    for t in range(T):
        upto = S - T + t + 2
        for h in range(H):
            s = keys[:upto, h] @ queries[t, h] / np.sqrt(D)
            w = np.exp(s - s.max())
            out[t, h] = w @ values[:upto, h] / w.sum()
    return out


# %% n_attn_softmax_over_queries fails a1.q3.attention is attention_sums
# Sums over the queries in the softmax's denominator.
def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[-1]
    scores = np.einsum("qhd,khd->hqk", queries, keys) / D**0.5
    scores = np.where(np.tri(T, S, S - T) == 1, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", e / e.sum(axis=1, keepdims=True), values)


# %% n_bytes_keys_only fails a1.q8.bytes is bytes_keys_only
# Counts keys and no values.
def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return n_layer * num_tokens * n_embd * bytes_per_number


# %% n_cache_length_set_first fails a1.q5.chunks is cache_second_piece
# Counts the new tokens before it embeds them, so that positions are those after the piece.
def forward_cached(params, n_head, tokens, cache):
    cache["total"] = cache.get("total", 0) + len(tokens)
    begin = cache["total"] if cache["length"] else 0
    x = embed(params, tokens, min(begin, len(params["wpe"]) - len(tokens)))
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


def rollback(cache, length):
    cache["length"] = cache["total"] = min(cache["length"], length)


# %% n_cache_mask_from_the_start fails a1.q5.chunks is cache_masked_top_left
# Its own attention in the cached forward masks as if the piece were the whole text.
def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    a = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    qkv = a @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"]
    q, k, v = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    k, v = store(cache, layer, k, v)
    s = np.einsum("thd,shd->hts", q, k) / np.sqrt(q.shape[-1])
    s = np.where(np.tri(len(q), len(k)) > 0, s, -1e30)
    s = np.exp(s - s.max(-1, keepdims=True))
    y = np.einsum("hts,shd->thd", s / s.sum(-1, keepdims=True), v).reshape(x.shape)
    return y @ params[p + "attn.c_proj.weight"] + params[p + "attn.c_proj.bias"]


# %% n_cache_new_only fails a1.q5.chunks is cache_not_read
# Attends only to the new keys and values of a piece.
def store(cache, layer, keys, values):
    n = cache["length"]
    cache["keys"][layer, n : n + len(keys)] = keys
    cache["values"][layer, n : n + len(values)] = values
    return keys, values


# %% n_cache_positions_restart fails a1.q5.chunks is cache_positions_restart
# Each piece's positions start at 0 again.
def forward_cached(params, n_head, tokens, cache):
    x = params["wte"][tokens] + params["wpe"][: len(tokens)]
    for i in range(count_layers(params)):
        x = x + attention_block(params, i, x, n_head, cache)
        x = x + mlp_block(params, i, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% n_cache_shared_by_layers fails a1.q5.chunks is cache_one_layer
# Keeps one array of keys and values for all layers.
def store(cache, layer, keys, values):
    n = cache["length"]
    m = n + len(keys)
    cache["keys"][0, n:m] = keys
    cache["values"][0, n:m] = values
    return cache["keys"][0, :m], cache["values"][0, :m]


# %% n_forward_heads_interleaved fails a1.q4.logits is forward_heads_split_first
# Takes c_attn's columns head by head, q k v of each: the shape is (T, H, 3, D).
def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    a = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    qkv = (a @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"]).reshape(len(x), n_head, 3, -1)
    k, v = store(cache, layer, qkv[:, :, 1], qkv[:, :, 2])
    y = causal_attention(qkv[:, :, 0], k, v).reshape(x.shape)
    return y @ params[p + "attn.c_proj.weight"] + params[p + "attn.c_proj.bias"]


# %% n_forward_mlp_bias_of_the_output_twice fails a1.q4.logits is forward_mlp
# Adds c_proj's bias to the residual once more after the MLP.
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        x += attention_block(params, i, x, n_head, cache)
        x += mlp_block(params, i, x) + params[f"h.{i}.mlp.c_proj.bias"]
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% n_forward_mlp_replaces fails a1.q4.logits is forward_no_mlp_residual
# Replaces x by the MLP's result instead of adding it.
def forward_cached(params, n_head, tokens, cache):
    h = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        h = h + attention_block(params, i, h, n_head, cache)
        h = mlp_block(params, i, h)
    cache["length"] += len(tokens)
    return unembed(params, h)


# %% n_forward_no_output_projection fails a1.q4.logits is forward_no_output_projection
# Leaves the attention's c_proj out.
def attention_block(params, layer, x, n_head, cache):
    p = f"h.{layer}."
    a = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    qkv = a @ params[p + "attn.c_attn.weight"] + params[p + "attn.c_attn.bias"]
    C = x.shape[1]
    q, k, v = qkv[:, :C], qkv[:, C : 2 * C], qkv[:, 2 * C :]
    k, v = store(cache, layer, k.reshape(-1, n_head, C // n_head), v.reshape(-1, n_head, C // n_head))
    return causal_attention(q.reshape(-1, n_head, C // n_head), k, v).reshape(-1, C)


# %% n_forward_parallel fails a1.q4.logits is forward_parallel_blocks
# Both blocks read the layer's input: the MLP does not see the attention's result.
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        att = attention_block(params, i, x, n_head, cache)
        mlp = mlp_block(params, i, x)
        x = x + att + mlp
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% n_forward_positions_from_one fails a1.q4.logits is forward_positions_from_one
# Numbers positions from 1.
def embed(params, tokens, start):
    positions = [start + i for i in range(1, len(tokens) + 1)]
    return params["wte"][tokens] + params["wpe"][positions]


# %% n_forward_residual_of_the_normed fails a1.q4.logits is forward_ends
# Adds each block's result to the normed x: x is overwritten by its norm.
def forward_cached(params, n_head, tokens, cache):
    g = params.__getitem__
    x = embed(params, tokens, cache["length"])
    for i in range(count_layers(params)):
        x = layer_norm(x, g(f"h.{i}.ln_1.weight"), g(f"h.{i}.ln_1.bias"))
        qkv = x @ g(f"h.{i}.attn.c_attn.weight") + g(f"h.{i}.attn.c_attn.bias")
        q, k, v = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
        k, v = store(cache, i, k, v)
        y = causal_attention(q, k, v).reshape(x.shape)
        x = x + y @ g(f"h.{i}.attn.c_proj.weight") + g(f"h.{i}.attn.c_proj.bias")
        x = layer_norm(x, g(f"h.{i}.ln_2.weight"), g(f"h.{i}.ln_2.bias"))
        y = gelu(x @ g(f"h.{i}.mlp.c_fc.weight") + g(f"h.{i}.mlp.c_fc.bias"))
        x = x + y @ g(f"h.{i}.mlp.c_proj.weight") + g(f"h.{i}.mlp.c_proj.bias")
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% n_forward_second_norm_is_the_first fails a1.q4.logits is forward_wrong_mlp_norm
# Copied ln_1 into the MLP.
def mlp_block(params, layer, x):
    p = f"h.{layer}."
    a = layer_norm(x, params[p + "ln_1.weight"], params[p + "ln_1.bias"])
    a = gelu(a @ params[p + "mlp.c_fc.weight"] + params[p + "mlp.c_fc.bias"])
    return a @ params[p + "mlp.c_proj.weight"] + params[p + "mlp.c_proj.bias"]


# %% n_forward_values_before_keys fails a1.q4.logits is forward_keys_and_values_swapped
# Splits c_attn into q, v, k.
def attention_block(params, layer, x, n_head, cache):
    w = {n: params[f"h.{layer}.{n}"] for n in ("ln_1.weight", "ln_1.bias", "attn.c_attn.weight", "attn.c_attn.bias")}
    a = layer_norm(x, w["ln_1.weight"], w["ln_1.bias"]) @ w["attn.c_attn.weight"] + w["attn.c_attn.bias"]
    q, v, k = (part.reshape(len(x), n_head, -1) for part in np.split(a, 3, axis=-1))
    k, v = store(cache, layer, k, v)
    y = causal_attention(q, k, v).reshape(x.shape)
    return y @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]


# %% n_gelu_decimal_point fails a1.q2.gelu is gelu_wrong_constant
# Slips a decimal point: 0.44715.
def gelu(x):
    a = np.sqrt(2 / np.pi) * (x + 0.44715 * x**3)
    return 0.5 * x * (np.tanh(a) + 1)


# %% n_gelu_half_of_the_first_only fails a1.q2.gelu is gelu_ends
# Halves x but not x times the tanh.
def gelu(x):
    return 0.5 * x + x * np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))


# %% n_gelu_no_root fails a1.q2.gelu is gelu_without_the_root
# Forgets the root: 2/pi.
def gelu(x):
    c = 2 / np.pi
    y = np.tanh(c * (x + 0.044715 * x**3))
    return 0.5 * x + 0.5 * x * y


# %% n_gelu_pi_over_two fails a1.q2.gelu is gelu_inside
# Has the root of pi/2 instead of 2/pi.
def gelu(x):
    k = np.sqrt(np.pi / 2)
    return x / 2 * (1 + np.tanh(k * (x + 0.044715 * x * x * x)))


# %% n_gelu_square fails a1.q2.gelu is gelu_squared
# Squares x inside of the tanh instead of cubing it.
def gelu(x):
    inner = x + 0.044715 * np.power(x, 2)
    return (x / 2) * (1 + np.tanh(np.sqrt(2 / np.pi) * inner))


# %% n_generate_last_of_equals fails a1.q7.greedy is generate_ties_to_the_highest
# Of equal logits the highest id wins.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    out, feed = [], prompt
    for _ in range(max_tokens):
        row = forward_cached(params, n_head, feed, cache)[-1]
        best = 0
        for i, value in enumerate(row):
            if value >= row[best]:
                best = i
        out.append(best)
        feed = [best]
    return out


# %% n_generate_one_short fails a1.q7.greedy is generate_drops_the_first
# Leaves the first generated token out of the result and makes one less.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens + 1)
    token = int(forward_cached(params, n_head, prompt, cache)[-1].argmax())
    out = []
    for _ in range(max_tokens):
        token = int(forward_cached(params, n_head, [token], cache)[-1].argmax())
        out.append(token)
    return out


# %% n_generate_row_of_the_first fails a1.q7.greedy is generate_from_the_first_row
# Reads the row of the first token fed.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    out, feed = [], prompt
    for _ in range(max_tokens):
        row = forward_cached(params, n_head, feed, cache)[0]
        out.append(int(row.argmax()))
        feed = out[-1:]
    return out


# %% n_norm_mean_not_squared fails a1.q1.rows is norm_deviation
# Computes the variance as mean of squares minus mean, the mean unsquared.
def layer_norm(x, weight, bias):
    out = np.empty(x.shape)
    for i, row in enumerate(x):
        mean = row.sum() / len(row)
        var = (row * row).sum() / len(row) - mean
        out[i] = (row - mean) / np.sqrt(abs(var) + EPSILON) * weight + bias
    return out


# %% n_norm_not_centred_on_top fails a1.q1.rows is layer_norm_numerator_not_centred
# Divides x itself by the deviation and forgets to subtract the mean there.
def layer_norm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    std = np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + EPSILON)
    return x / std * weight + bias


# %% n_norm_other_epsilon fails a1.q1.rows is norm_deviation
# Writes 1e-2 for epsilon instead of the constant given.
def layer_norm(x, weight, bias):
    d = x - x.mean(axis=1, keepdims=True)
    return d / (np.mean(d**2, axis=1, keepdims=True) + 1e-2) ** 0.5 * weight + bias


# %% n_norm_scale_weight_plus_bias fails a1.q1.rows
# Multiplies by weight + bias, for want of a pair of brackets in the head.
def layer_norm(x, weight, bias):
    m = x.mean(-1, keepdims=True)
    v = x.var(-1, keepdims=True)
    hat = (x - m) / np.sqrt(v + EPSILON)
    return hat * (weight + bias)


# %% n_norm_std_plus_epsilon fails a1.q1.small is layer_norm_epsilon_outside
# Adds epsilon to the standard deviation, not to the variance.
def layer_norm(x, weight, bias):
    mu = np.mean(x, axis=1)[:, None]
    sigma = np.std(x, axis=1)[:, None]
    return weight * ((x - mu) / (sigma + EPSILON)) + bias


# %% n_norm_whole_variance fails a1.q1.rows is norm_deviation
# Takes the mean by row, but the variance over the whole array.
def layer_norm(x, weight, bias):
    centred = np.array([row - row.mean() for row in x])
    return centred / np.sqrt(np.var(centred) + EPSILON) * weight + bias


# %% n_rollback_always fails a1.q6.rollback is rollback_lengthens
# Sets the length also where it is larger than the cache's.
def rollback(cache, length):
    cache["length"] = length


# %% n_rollback_by_a_number fails a1.q6.rollback is rollback_drops_that_many
# Takes the argument for the number of tokens to drop.
def rollback(cache, length):
    cache["length"] = max(0, cache["length"] - length)


# %% n_rollback_keeps_one_more fails a1.q6.rollback is rollback_one_too_many
# Keeps one token too many.
def rollback(cache, length):
    if length < cache["length"]:
        cache["length"] = length + 1


# %% n_rows_of_nothing fails a1.q8.rows is rows_for_nothing
# Forgets that without new tokens nothing is run.
def forward_rows(num_prompt, num_new, cached):
    if cached:
        return num_prompt + (num_new - 1)
    return sum(range(num_prompt, num_prompt + num_new))


# %% n_rows_uncached_one_up fails a1.q8.rows is rows_uncached_one_ahead
# Without a cache it counts each forward with the token it yields.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    total = num_prompt + num_new - 1
    if not cached:
        total = 0
        for i in range(1, num_new + 1):
            total += num_prompt + i
    return total


# %% n_rows_with_the_last fails a1.q8.rows is rows_prompt_plus_new
# Counts the row of the last token too, which is never fed.
def forward_rows(num_prompt, num_new, cached):
    if not num_new:
        return 0
    if cached:
        return num_prompt + num_new
    return num_prompt * num_new + num_new * (num_new - 1) // 2
