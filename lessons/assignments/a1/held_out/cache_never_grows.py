"""The length is never advanced."""

FAILS = "a1.q5.chunks"
MISTAKE = ""

grown_forward = forward_cached


def forward_cached(params, n_head, tokens, cache):
    logits = grown_forward(params, n_head, tokens, cache)
    cache["length"] = 0
    return logits
