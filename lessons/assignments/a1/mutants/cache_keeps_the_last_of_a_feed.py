"""Of each feed only the last token stays in the cache; all of them must."""

FAILS = "a1.q5.chunks"


every_token = forward_cached


def forward_cached(params, n_head, tokens, cache):
    start = cache["length"]
    logits = every_token(params, n_head, tokens, cache)
    for name in ("keys", "values"):
        cache[name][:, start] = cache[name][:, start + len(tokens) - 1]
    cache["length"] = start + 1
    return logits
