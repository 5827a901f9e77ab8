"""All tokens of a feed get the position of the first."""

FAILS = "a1.q5.chunks"
MISTAKE = ""


def forward(params, n_head, tokens):
    cache = new_cache(params, n_head, len(tokens))
    return np.concatenate([forward_cached(params, n_head, [token], cache) for token in tokens])


def embed(params, tokens, start):
    return params["wte"][np.asarray(tokens)] + params["wpe"][start]
