"""Forgets n_layer."""

FAILS = "a1.q8.bytes"
MISTAKE = "bytes_one_layer"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    keys = values = n_embd * num_tokens
    return (keys + values) * bytes_per_number
