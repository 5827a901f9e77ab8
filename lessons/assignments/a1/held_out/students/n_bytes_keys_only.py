"""Counts keys and no values."""

FAILS = "a1.q8.bytes"
MISTAKE = "bytes_keys_only"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return n_layer * num_tokens * n_embd * bytes_per_number
