"""A default argument keeps the lists of an earlier cache."""

FAILS = "a1.q5.chunks"
MISTAKE = "cache_shared"

fresh_cache = new_cache


def new_cache(params, n_head, capacity, known={}):
    key = count_layers(params), n_head
    if key not in known:
        known[key] = fresh_cache(params, n_head, 64)
    return known[key]


def forward(params, n_head, tokens):
    return forward_cached(params, n_head, tokens, fresh_cache(params, n_head, len(tokens)))
