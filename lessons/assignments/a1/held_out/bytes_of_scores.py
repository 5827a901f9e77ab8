"""The size of the attention matrix."""

FAILS = "a1.q8.bytes"
MISTAKE = "bytes_squared"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 2 * n_layer * n_embd * num_tokens * num_tokens * bytes_per_number
