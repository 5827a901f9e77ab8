"""Returns kibibytes."""

FAILS = "a1.q8.bytes"
MISTAKE = "bytes_times_a_number"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    keys = n_layer * num_tokens * n_embd * bytes_per_number
    return 2 * keys / 1024
