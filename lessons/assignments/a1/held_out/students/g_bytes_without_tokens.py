"""Forgets to multiply by the tokens."""

FAILS = "a1.q8.bytes"
MISTAKE = "bytes_of_one_token"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    per_layer = n_embd + n_embd  # a key and a value
    return n_layer * per_layer * bytes_per_number
