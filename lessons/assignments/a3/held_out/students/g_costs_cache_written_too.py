"""Adds the writing of the new rows' keys and values to the bytes."""

FAILS = "a3.q5.costs"
MISTAKE = "costs_cache_written"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    n = count_weights(n_layer, n_embd, vocab_size)
    flops = rows * (2 * n + 4 * n_layer * n_embd * context)
    cache = 2 * n_layer * n_embd * (context + rows)
    return flops, bytes_per_number * (n + cache)
