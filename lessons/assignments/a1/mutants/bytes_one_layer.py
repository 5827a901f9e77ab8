"""Every layer has keys and values of its own; you count one layer."""

FAILS = "a1.q8.bytes"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 2 * n_embd * num_tokens * bytes_per_number
