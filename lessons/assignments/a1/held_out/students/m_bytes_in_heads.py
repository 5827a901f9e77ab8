"""Counts three numbers for a key and its value, for a reason of its own."""

FAILS = "a1.q8.bytes"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return n_layer * n_embd * num_tokens * bytes_per_number * 2 / 2 * 3
