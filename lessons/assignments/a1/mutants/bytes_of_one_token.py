"""You count one token; the cache holds `num_tokens` of them."""

FAILS = "a1.q8.bytes"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 2 * n_layer * n_embd * bytes_per_number
