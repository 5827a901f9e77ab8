"""Bytes grow with the rows."""

FAILS = "a3.q5.costs"
MISTAKE = "costs_read_per_row"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    kv = 2 * n_layer * n_embd * context
    return 2 * rows * (w + kv), rows * (w + kv) * bytes_per_number
