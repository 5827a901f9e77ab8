"""You count one number for a token's key; it has `n_embd` of them, over all heads."""

FAILS = "a1.q8.bytes"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 2 * n_layer * num_tokens * bytes_per_number
