"""Your logits have a batch axis in front; the shape is (T, V)."""

FAILS = "a1.q4.logits"


def forward(params, n_head, tokens):
    return forward_cached(params, n_head, tokens, new_cache(params, n_head, len(tokens)))[None]
