"""Reads keys and no values."""

FAILS = "a3.q5.costs"
MISTAKE = "costs_keys_only"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    attention = 4 * n_layer * n_embd * context
    return rows * (2 * w + attention), bytes_per_number * (w + n_layer * context * n_embd)
