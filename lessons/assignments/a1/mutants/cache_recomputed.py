"""You keep the tokens and run the whole text again at each feed: the right logits, at the cost the cache is there to
save.
"""

FAILS = "a1.q5.once"


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
