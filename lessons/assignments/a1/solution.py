"""A1: the forward pass of GPT-2 and its KV cache, in NumPy.

Axes: T new tokens, S tokens seen in all, C channels, H heads, D = C / H head size, V vocabulary. `params` is a dict of
arrays under Hugging Face's names; HANDOUT.md lists them with their shapes. Fill in the functions; the small ones that
nobody grades (`embed`, `attention_block`, ...) are a suggestion, and you may replace them by a structure of your own.
"""

import numpy as np

EPSILON = 1e-5


def layer_norm(x, weight, bias):
    """Q1. Normalise each row of x to mean 0 and variance 1, then scale by weight and shift by bias.

    Parameters
    ----------
    x : ndarray of shape (T, C)
    weight, bias : ndarray of shape (C,)

    Returns
    -------
    ndarray of shape (T, C)

    Examples
    --------
    >>> layer_norm(np.array([[1.0, 3.0]]), np.ones(2), np.zeros(2)).round(3)
    array([[-1.,  1.]])
    """
    # BEGIN SOLUTION
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + EPSILON) * weight + bias
    # END SOLUTION


def gelu(x):
    """Q2. GPT-2's activation, the tanh form, of each element of x.

    Examples
    --------
    >>> gelu(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.1588,  0.    ,  0.8412])
    """
    # BEGIN SOLUTION
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
    # END SOLUTION


def causal_attention(queries, keys, values):
    """Q3. Attend, in each head on its own, from the last T of S tokens to every token up to itself.

    Query t belongs to token S - T + t of the text; with T = S that is token t.

    Parameters
    ----------
    queries : ndarray of shape (T, H, D)
    keys, values : ndarray of shape (S, H, D), S >= T

    Returns
    -------
    ndarray of shape (T, H, D)

    Examples
    --------
    The first token sees only itself, the second both; equal scores weigh equally:

    >>> values = np.array([1.0, 3.0]).reshape(2, 1, 1)
    >>> causal_attention(np.zeros((2, 1, 1)), np.zeros((2, 1, 1)), values).ravel()
    array([1., 2.])
    """
    # BEGIN SOLUTION
    num_queries, num_keys, head_size = len(queries), len(keys), queries.shape[-1]
    scores = np.einsum("thd,shd->hts", queries, keys) / np.sqrt(head_size)
    visible = np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.einsum("hts,shd->thd", weights, values)
    # END SOLUTION


def forward(params, n_head, tokens):
    """Q4. Return the logits after each token, without a cache.

    Parameters
    ----------
    params : dict of str to ndarray
    n_head : int
    tokens : list of int, length T

    Returns
    -------
    ndarray of shape (T, V)
    """
    # BEGIN SOLUTION
    return forward_cached(params, n_head, tokens, new_cache(params, n_head, len(tokens)))
    # END SOLUTION


def new_cache(params, n_head, capacity):
    """Q5. Return an empty cache with room for `capacity` tokens; what it is made of is up to you."""
    # BEGIN SOLUTION
    n_embd = params["wte"].shape[1]
    shape = (count_layers(params), capacity, n_head, n_embd // n_head)
    return {"keys": np.zeros(shape), "values": np.zeros(shape), "length": 0}
    # END SOLUTION


def forward_cached(params, n_head, tokens, cache):
    """Q5. Feed tokens to the cache and return the logits after each of them.

    Only the new tokens pass through the network; what they need of the earlier ones is in the cache.

    Parameters
    ----------
    params : dict of str to ndarray
    n_head : int
    tokens : list of int, length T
        They follow the tokens that the cache holds.
    cache : object
        From `new_cache`; it holds these tokens too afterwards.

    Returns
    -------
    ndarray of shape (T, V)
    """
    # BEGIN SOLUTION
    start = cache["length"]
    x = embed(params, tokens, start)
    for layer in range(count_layers(params)):
        x = x + attention_block(params, layer, x, n_head, cache)
        x = x + mlp_block(params, layer, x)
    cache["length"] = start + len(tokens)
    return unembed(params, x)
    # END SOLUTION


def rollback(cache, length):
    """Q6. Make the cache keep at most its first `length` tokens; a cache that holds no more stays as it is."""
    # BEGIN SOLUTION
    cache["length"] = min(cache["length"], length)
    # END SOLUTION


def generate(params, n_head, prompt, max_tokens):
    """Q7. Decode greedily: return the `max_tokens` tokens that follow the prompt, each the likeliest.

    Of equal logits the lowest id wins. Feed each token once.

    Parameters
    ----------
    prompt : list of int, not empty
    max_tokens : int, >= 0

    Returns
    -------
    list of int, length max_tokens
    """
    # BEGIN SOLUTION
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    generated, pending = [], list(prompt)
    while len(generated) < max_tokens:
        logits = forward_cached(params, n_head, pending, cache)
        pending = [int(np.argmax(logits[-1]))]
        generated += pending
    return generated
    # END SOLUTION


def forward_rows(num_prompt, num_new, cached):
    """Q8. Return how many token rows must pass through the network to generate `num_new` tokens.

    A forward over T tokens has T rows. With a cache each token is fed at most once; without, every forward gets the
    whole text so far.

    Examples
    --------
    >>> forward_rows(5, 1, cached=True), forward_rows(5, 1, cached=False)
    (5, 5)
    """
    # BEGIN SOLUTION
    if num_new == 0:
        return 0
    if cached:
        return num_prompt + num_new - 1
    return sum(num_prompt + i for i in range(num_new))
    # END SOLUTION


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    """Q8. Return the size in bytes of what a cache must hold of `num_tokens` tokens."""
    # BEGIN SOLUTION
    return 2 * n_layer * n_embd * num_tokens * bytes_per_number
    # END SOLUTION


# A suggested structure. Nobody calls the functions below but you.


def count_layers(params):
    """Return how many blocks the parameters hold (given)."""
    return sum(name.endswith(".ln_1.weight") for name in params)


def embed(params, tokens, start):
    """Return token plus position embeddings, shape (T, C); the first token stands at position `start`."""
    # BEGIN SOLUTION
    return params["wte"][np.asarray(tokens)] + params["wpe"][start : start + len(tokens)]
    # END SOLUTION


def attention_block(params, layer, x, n_head, cache):
    """Norm, project to q, k and v, store k and v, attend, project back; (T, C) -> (T, C)."""
    # BEGIN SOLUTION
    normed = layer_norm(x, params[f"h.{layer}.ln_1.weight"], params[f"h.{layer}.ln_1.bias"])
    qkv = normed @ params[f"h.{layer}.attn.c_attn.weight"] + params[f"h.{layer}.attn.c_attn.bias"]
    queries, keys, values = (part.reshape(len(x), n_head, -1) for part in np.split(qkv, 3, axis=-1))
    keys, values = store(cache, layer, keys, values)
    heads = causal_attention(queries, keys, values).reshape(x.shape)
    return heads @ params[f"h.{layer}.attn.c_proj.weight"] + params[f"h.{layer}.attn.c_proj.bias"]
    # END SOLUTION


def store(cache, layer, keys, values):
    """Write a layer's new keys and values, shape (T, H, D), behind the old ones; return them all, shape (S, H, D)."""
    # BEGIN SOLUTION
    start, end = cache["length"], cache["length"] + len(keys)
    cache["keys"][layer, start:end] = keys
    cache["values"][layer, start:end] = values
    return cache["keys"][layer, :end], cache["values"][layer, :end]
    # END SOLUTION


def mlp_block(params, layer, x):
    """Norm, widen, activate, narrow; (T, C) -> (T, C)."""
    # BEGIN SOLUTION
    normed = layer_norm(x, params[f"h.{layer}.ln_2.weight"], params[f"h.{layer}.ln_2.bias"])
    hidden = gelu(normed @ params[f"h.{layer}.mlp.c_fc.weight"] + params[f"h.{layer}.mlp.c_fc.bias"])
    return hidden @ params[f"h.{layer}.mlp.c_proj.weight"] + params[f"h.{layer}.mlp.c_proj.bias"]
    # END SOLUTION


def unembed(params, x):
    """Return the logits: the last norm, then the token embedding turned round; (T, C) -> (T, V)."""
    # BEGIN SOLUTION
    return layer_norm(x, params["ln_f.weight"], params["ln_f.bias"]) @ params["wte"].T
    # END SOLUTION
