"""Your positions restart at 0 with each feed; the first new token stands behind what the cache holds."""

FAILS = "a1.q5.chunks"


def forward(params, n_head, tokens):
    return forward_cached(params, n_head, tokens, new_cache(params, n_head, len(tokens)))


def embed(params, tokens, start):
    return params["wte"][np.asarray(tokens)] + params["wpe"][: len(tokens)]
