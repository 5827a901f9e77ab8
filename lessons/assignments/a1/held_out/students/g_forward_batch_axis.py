"""Returns the logits with a batch axis in front."""

FAILS = "a1.q4.logits"
MISTAKE = "forward_batch_axis"


def forward(params, n_head, tokens):
    cache = new_cache(params, n_head, len(tokens))
    logits = forward_cached(params, n_head, tokens, cache)
    return logits[np.newaxis]
