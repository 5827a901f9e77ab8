"""Wrong submissions to A1 that no check was written from: what is caught and named of them is counted."""


# %% attention_divides_by_size fails a1.q3.attention is attention_scale_by_head_size
# Divides by D.
def causal_attention(queries, keys, values):
    T, S, D = len(queries), len(keys), queries.shape[2]
    out = np.zeros_like(queries, dtype=float)
    for t in range(T):
        seen = S - T + t + 1
        for h in range(queries.shape[1]):
            s = keys[:seen, h] @ queries[t, h] / D
            w = np.exp(s - s.max())
            out[t, h] = (w / w.sum()) @ values[:seen, h]
    return out


# %% attention_not_causal fails a1.q3.attention is attention_no_mask
# Every query sees every key.
def causal_attention(queries, keys, values):
    s = np.einsum("qhd,khd->hqk", queries, keys) * queries.shape[-1] ** -0.5
    s = s - s.max(-1, keepdims=True)
    w = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", w, values)


# %% attention_plain_exp fails a1.q3.large is attention_overflows
# No maximum is subtracted.
def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    mask = np.arange(S)[None] <= np.arange(T)[:, None] + S - T
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[2])) * mask
        return np.einsum("hts,shd->thd", e / e.sum(-1, keepdims=True), values)


# %% attention_returns_weights_of_keys fails a1.q3.attention is nothing
# Weighs the keys instead of the values.
right_attention = causal_attention


def causal_attention(queries, keys, values):
    return right_attention(queries, keys, keys)


# %% attention_root_of_model_width fails a1.q3.attention is attention_scale_by_all_channels
# Divides by the root of H D.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    scores = np.einsum("ihd,jhd->hij", queries, keys) / (H * D) ** 0.5
    for t in range(T):
        scores[:, t, S - T + t + 1 :] = -np.inf
    probs = np.exp(scores - scores.max(axis=2, keepdims=True))
    probs = probs / probs.sum(axis=2, keepdims=True)
    return np.einsum("hij,jhd->ihd", probs, values)


# %% attention_sees_next fails a1.q3.attention is attention_one_ahead
# An off-by-one of the mask.
def causal_attention(queries, keys, values):
    T, S = len(queries), len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(queries.shape[2])
    future = np.arange(S)[None] > np.arange(T)[:, None] + S - T + 1
    s[:, future] = -np.inf
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", w / w.sum(-1, keepdims=True), values)


# %% bytes_of_scores fails a1.q8.bytes is bytes_squared
# The size of the attention matrix.
def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 2 * n_layer * n_embd * num_tokens * num_tokens * bytes_per_number


# %% bytes_single_layer fails a1.q8.bytes is bytes_one_layer
# Forgets n_layer.
def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    keys = values = n_embd * num_tokens
    return (keys + values) * bytes_per_number


# %% cache_never_grows fails a1.q5.chunks is nothing
# The length is never advanced.
grown_forward = forward_cached


def forward_cached(params, n_head, tokens, cache):
    logits = grown_forward(params, n_head, tokens, cache)
    cache["length"] = 0
    return logits


# %% cache_one_for_all fails a1.q5.chunks is cache_shared
# A default argument keeps the lists of an earlier cache.
fresh_cache = new_cache


def new_cache(params, n_head, capacity, known={}):
    key = count_layers(params), n_head
    if key not in known:
        known[key] = fresh_cache(params, n_head, 64)
    return known[key]


def forward(params, n_head, tokens):
    return forward_cached(params, n_head, tokens, fresh_cache(params, n_head, len(tokens)))


# %% cache_position_always_next fails a1.q5.chunks is nothing
# All tokens of a feed get the position of the first.
def forward(params, n_head, tokens):
    cache = new_cache(params, n_head, len(tokens))
    return np.concatenate([forward_cached(params, n_head, [token], cache) for token in tokens])


def embed(params, tokens, start):
    return params["wte"][np.asarray(tokens)] + params["wpe"][start]


# %% f_attn_all_visible fails a1.q3.attention is attention_no_mask
# Loops over heads without a mask.
def causal_attention(queries, keys, values):
    out = np.zeros_like(queries, dtype=float)
    for h in range(queries.shape[1]):
        s = queries[:, h] @ keys[:, h].T / np.sqrt(queries.shape[2])
        w = np.exp(s - s.max(1, keepdims=True))
        out[:, h] = w / w.sum(1, keepdims=True) @ values[:, h]
    return out


# %% f_attn_loop_no_offset fails a1.q3.block is attention_mask_top_left
# Loops over queries; query t sees keys up to t.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    out = np.zeros((T, H, D))
    for h in range(H):
        for t in range(T):
            s = keys[: t + 1, h] @ queries[t, h] / np.sqrt(D)
            w = np.exp(s - s.max())
            out[t, h] = (w / w.sum()) @ values[: t + 1, h]
    return out


# %% f_attn_mask_zero fails a1.q3.attention is attention_masked_with_zero
# Masked scores are multiplied by 0.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(D)
    s = s * np.tril(np.ones((T, S)), S - T)
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", w / w.sum(-1, keepdims=True), values)


# %% f_attn_max_of_all fails a1.q3.attention is nothing
# The largest score of all heads is subtracted, so rows underflow to nan.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(D)
    w = np.exp(s - s.max()) * np.tril(np.ones((T, S)), S - T)
    return np.einsum("hts,shd->thd", w / w.sum(-1, keepdims=True), values)


# %% f_attn_one_head_for_all fails a1.q3.attention is nothing
# Scores are summed over heads.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    s = np.einsum("thd,shd->ts", queries, keys) / np.sqrt(D)
    s[np.triu(np.ones((T, S), bool), S - T + 1)] = -np.inf
    w = np.exp(s - s.max(-1, keepdims=True))
    return np.einsum("ts,shd->thd", w / w.sum(-1, keepdims=True), values)


# %% f_attn_values_weighted_by_scores fails a1.q3.attention is nothing
# The scores themselves weigh the values, no softmax.
def causal_attention(queries, keys, values):
    T, H, D = queries.shape
    S = len(keys)
    s = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(D)
    return np.einsum("hts,shd->thd", s * np.tril(np.ones((T, S)), S - T), values)


# %% f_bytes_bits fails a1.q8.rows is nothing
# Divided by eight.
def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 2 * n_layer * num_tokens * n_embd * bytes_per_number // 8


# %% f_bytes_no_two fails a1.q8.bytes is bytes_keys_only
# Keys only.
def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return n_layer * num_tokens * n_embd * bytes_per_number


# %% f_cache_capacity_16 fails a1.q5.chunks is nothing
# Room for 16 tokens, whatever is asked for.
def new_cache(params, n_head, capacity):
    shape = (count_layers(params), 16, n_head, params["wte"].shape[1] // n_head)
    return {"keys": np.zeros(shape), "values": np.zeros(shape), "length": 0}


# %% f_cache_global fails a1.q5.chunks is cache_shared
# One list for all caches.
_KEPT = {}


def new_cache(params, n_head, capacity):
    shape = (count_layers(params), capacity + 30, n_head, params["wte"].shape[1] // n_head)
    return _KEPT.setdefault(shape, {"keys": np.zeros(shape), "values": np.zeros(shape), "length": 0})


def forward(params, n_head, tokens):
    cache = new_cache(params, n_head, len(tokens))
    cache["length"] = 0
    return forward_cached(params, n_head, tokens, cache)


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    cache["length"] = 0
    out, new = [], list(prompt)
    for _ in range(max_tokens):
        new = [int(forward_cached(params, n_head, new, cache)[-1].argmax())]
        out += new
    return out


# %% f_cache_start_off_by_one fails a1.q5.chunks is nothing
# Positions begin one too far in later pieces.
def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    x = embed(params, tokens, start + (start > 0))
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] = start + len(tokens)
    return unembed(params, x)


# %% f_forward_attn_overwrites fails a1.q4.logits is forward_no_attention_residual
# Attention's output replaces x, no residual.
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in range(count_layers(params)):
        x = attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% f_forward_heads_first fails a1.q4.logits is forward_heads_split_first
# Reshaped to heads before the split into q, k and v.
def attention_block(params, layer, x, n_head, cache):
    def p(n):
        return params[f"h.{layer}.{n}"]

    h = layer_norm(x, p("ln_1.weight"), p("ln_1.bias"))
    qkv = (h @ p("attn.c_attn.weight") + p("attn.c_attn.bias")).reshape(len(x), n_head, -1)
    q, k, v = np.split(qkv, 3, axis=2)
    k, v = store(cache, layer, k, v)
    return causal_attention(q, k, v).reshape(x.shape) @ p("attn.c_proj.weight") + p("attn.c_proj.bias")


# %% f_forward_mlp_from_x fails a1.q4.logits is nothing
# MLP without its norm.
def mlp_block(params, layer, x):
    def p(n):
        return params[f"h.{layer}.mlp.{n}"]

    return gelu(x @ p("c_fc.weight") + p("c_fc.bias")) @ p("c_proj.weight") + p("c_proj.bias")


# %% f_forward_no_final_norm fails a1.q4.logits is forward_no_last_norm
# Logits from x without the last norm.
def unembed(params, x):
    return x @ params["wte"].T


# %% f_forward_no_wpe fails a1.q4.logits is forward_no_positions
# No positions.
def embed(params, tokens, start):
    return params["wte"][tokens]


# %% f_forward_proj_bias_missing fails a1.q4.logits is nothing
# The bias of the attention's output is missing.
def attention_block(params, layer, x, n_head, cache):
    def p(n):
        return params[f"h.{layer}.{n}"]

    h = layer_norm(x, p("ln_1.weight"), p("ln_1.bias"))
    q, k, v = (
        a.reshape(len(x), n_head, -1) for a in np.split(h @ p("attn.c_attn.weight") + p("attn.c_attn.bias"), 3, axis=1)
    )
    k, v = store(cache, layer, k, v)
    return causal_attention(q, k, v).reshape(x.shape) @ p("attn.c_proj.weight")


# %% f_gelu_precise fails a1.q2.gelu is gelu_exact
# The exact form through math.erf.
def gelu(x):
    import math

    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


# %% f_gelu_sqrt_pi_half fails a1.q2.gelu is nothing
# Sqrt(pi/2).
def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(np.pi / 2) * (x + 0.044715 * x**3)))


# %% f_generate_last_argmax fails a1.q7.greedy is generate_ties_to_the_highest
# Of equal logits the last.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    out, new = [], list(prompt)
    for _ in range(max_tokens):
        row = forward_cached(params, n_head, new, cache)[-1]
        new = [int(np.argsort(row, kind="stable")[-1])]
        out += new
    return out


# %% f_generate_new_cache_each_time fails a1.q7.cost is generate_without_cache
# A fresh cache per token.
def generate(params, n_head, prompt, max_tokens):
    text = list(prompt)
    for _ in range(max_tokens):
        cache = new_cache(params, n_head, len(text))
        text.append(int(np.argmax(forward_cached(params, n_head, text, cache)[-1])))
    return text[len(prompt) :]


# %% f_generate_prefill_twice fails a1.q7.greedy is generate_refeeds_the_prompt_token
# The prompt's last token is fed again.
def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens + 1)
    forward_cached(params, n_head, list(prompt), cache)
    last, out = prompt[-1], []
    for _ in range(max_tokens):
        last = int(forward_cached(params, n_head, [last], cache)[-1].argmax())
        out.append(last)
    return out


# %% f_norm_bias_scaled fails a1.q1.rows is nothing
# The bias is added before the weight multiplies.
def layer_norm(x, weight, bias):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return ((x - m) / np.sqrt(v + 1e-5) + bias) * weight


# %% f_norm_eps_1e12 fails a1.q1.small is layer_norm_epsilon_too_small
# Epsilon is 1e-12.
def layer_norm(x, weight, bias):
    m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-12) * weight + bias


# %% f_norm_eps_on_std fails a1.q1.small is layer_norm_epsilon_outside
# Epsilon is added to the standard deviation.
def layer_norm(x, weight, bias):
    mu = np.mean(x, axis=1)[:, None]
    return weight * ((x - mu) / (np.std(x, axis=1)[:, None] + 1e-5)) + bias


# %% f_norm_no_root fails a1.q1.rows is layer_norm_variance_not_rooted
# Divided by the variance.
def layer_norm(x, weight, bias):
    out = np.empty_like(x, dtype=float)
    for i, row in enumerate(x):
        out[i] = (row - row.mean()) / (row.var() + 1e-5) * weight + bias
    return out


# %% f_rollback_by fails a1.q6.rollback is rollback_drops_that_many
# Goes back by `length` tokens.
def rollback(cache, length):
    cache["length"] = max(0, cache["length"] - length)


# %% f_rollback_copy fails a1.q6.rollback is rollback_does_nothing
# Truncates a copy, the cache stays.
def rollback(cache, length):
    cache = dict(cache)
    cache["length"] = min(cache["length"], length)
    return cache


# %% f_rollback_minus fails a1.q6.rollback is rollback_one_too_few
# Keeps length - 1 tokens.
def rollback(cache, length):
    cache["length"] = min(cache["length"], max(0, length - 1))


# %% f_rows_cached_all fails a1.q8.rows is rows_prompt_plus_new
# P + N rows with a cache.
def forward_rows(num_prompt, num_new, cached):
    if not num_new:
        return 0
    return num_prompt + num_new if cached else sum(range(num_prompt, num_prompt + num_new))


# %% f_rows_square fails a1.q8.rows is nothing
# Without a cache the final length each time.
def forward_rows(num_prompt, num_new, cached):
    if num_new == 0:
        return 0
    return num_prompt + num_new - 1 if cached else num_new * (num_prompt + num_new - 1)


# %% forward_kv_swapped fails a1.q4.logits is forward_keys_and_values_swapped
# Unpacks q, v, k.
def attention_block(params, layer, x, n_head, cache):
    h = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    h = h @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    C = x.shape[1]
    q, v, k = h[:, :C], h[:, C : 2 * C], h[:, 2 * C :]
    q, k, v = (a.reshape(len(x), n_head, C // n_head) for a in (q, k, v))
    k, v = store(cache, layer, k, v)
    out = causal_attention(q, k, v).reshape(len(x), C)
    return out @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]


# %% forward_positions_all_zero fails a1.q4.logits is forward_one_position
# Adds wpe[0] to every token of the prompt.
def embed(params, tokens, start):
    rows = [params["wte"][token] + params["wpe"][start] for token in tokens]
    return np.array(rows)


# %% forward_residual_of_norm fails a1.q4.logits is nothing
# Adds the attention to the normed x.
def forward_cached(params, n_head, tokens, cache):
    x = embed(params, tokens, cache["length"])
    for layer in range(count_layers(params)):
        normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
        x = normed + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] += len(tokens)
    return unembed(params, x)


# %% forward_skips_mlp_residual fails a1.q4.logits is forward_no_mlp_residual
# x = mlp(x).
plus_mlp = mlp_block


def mlp_block(params, layer, x):
    return plus_mlp(params, layer, x) - x


# %% forward_softmax_at_the_end fails a1.q4.logits is forward_returns_probabilities
# Softmaxes the logits.
logits_of = unembed


def unembed(params, x):
    e = np.exp(logits_of(params, x))
    return e / e.sum(axis=1)[:, None]


# %% gelu_missing_half fails a1.q2.gelu is nothing
# The factor one half is missing.
def gelu(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


# %% gelu_quick fails a1.q2.gelu is gelu_sigmoid
# The quick form.
def gelu(x):
    gate = 1 / (1 + np.exp(-1.702 * x))
    return x * gate


# %% generate_prompt_included fails a1.q7.greedy is generate_with_the_prompt
# Returns the whole text.
def generate(params, n_head, prompt, max_tokens):
    tokens = list(prompt)
    for _ in range(max_tokens):
        tokens += [int(forward(params, n_head, tokens)[-1].argmax())]
    return tokens


# %% generate_skips_the_first fails a1.q7.greedy is generate_drops_the_first
# Prefills, then feeds the first token without recording it.
def generate(params, n_head, prompt, max_tokens):
    cache, out = new_cache(params, n_head, len(prompt) + max_tokens + 1), []
    last = int(forward_cached(params, n_head, prompt, cache)[-1].argmax())
    for _ in range(max_tokens):
        last = int(forward_cached(params, n_head, [last], cache)[-1].argmax())
        out.append(last)
    return out


# %% norm_axis_zero fails a1.q1.rows is layer_norm_over_tokens
# axis=0 everywhere.
def layer_norm(x, weight, bias):
    return weight * (x - np.mean(x, axis=0)) / np.sqrt(np.var(x, axis=0) + 1e-5) + bias


# %% norm_bias_forgotten fails a1.q1.rows is layer_norm_no_bias
# Scales but does not shift.
def layer_norm(x, weight, bias):
    mu, sigma2 = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return weight * (x - mu) * (sigma2 + EPSILON) ** -0.5


# %% norm_epsilon_forgotten fails a1.q1.small is layer_norm_no_epsilon
# std without epsilon.
def layer_norm(x, weight, bias):
    with np.errstate(invalid="ignore", divide="ignore"):
        normal = (x - x.mean(1)[:, np.newaxis]) / x.std(1)[:, np.newaxis]
    return normal * weight + bias


# %% norm_epsilon_too_large fails a1.q1.small is nothing
# epsilon is 1e-3.
def layer_norm(x, weight, bias):
    mu, sigma2 = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return weight * (x - mu) / np.sqrt(sigma2 + 1e-3) + bias


# %% rollback_forgotten fails a1.q6.rollback is rollback_does_nothing
# Assigns to a local name.
def rollback(cache, length):
    cache = {name: value for name, value in cache.items()}
    cache["length"] = min(cache["length"], length)


# %% rollback_inclusive fails a1.q6.rollback is rollback_one_too_many
# Keeps slots 0 to length, both included.
def rollback(cache, length):
    kept = [slot for slot in range(cache["length"]) if slot <= length]
    cache["length"] = len(kept)


# %% rollback_raises_beyond fails a1.q6.rollback is nothing
# Refuses a length beyond what is held.
def rollback(cache, length):
    assert length <= cache["length"], "cannot go forward"
    cache["length"] = length


# %% rows_constant_prompt fails a1.q8.rows is rows_without_growth
# Without a cache P rows each time.
def forward_rows(num_prompt, num_new, cached):
    if not num_new:
        return 0
    return num_prompt + (num_new - 1) * (1 if cached else num_prompt)
