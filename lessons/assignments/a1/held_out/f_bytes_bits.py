"""Divided by eight."""

FAILS = "a1.q8.rows"
MISTAKE = ""


def cache_bytes(n_layer, n_embd, num_tokens, bytes_per_number):
    return 2 * n_layer * num_tokens * n_embd * bytes_per_number // 8
