"""You return bits; bytes are wanted."""

FAILS = "a1.q8.bytes"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return n_layer * 2 * num_tokens * n_embd * bytes_per_number * 8
