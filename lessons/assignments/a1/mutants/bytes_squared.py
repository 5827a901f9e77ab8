"""A cache grows with the number of tokens, not with its square: it holds keys and values, no scores."""

FAILS = "a1.q8.bytes"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 2 * n_layer * n_embd * num_tokens**2 * bytes_per_number
