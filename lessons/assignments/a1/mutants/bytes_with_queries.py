"""You count queries too; nobody needs an old query again: keys and values, a factor of 2."""

FAILS = "a1.q8.bytes"


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 3 * n_layer * n_embd * num_tokens * bytes_per_number
