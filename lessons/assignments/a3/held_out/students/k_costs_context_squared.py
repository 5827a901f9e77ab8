"""Charges the attention for every pair of cached tokens."""

FAILS = "a3.q5.costs"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * w * rows + 4 * n_layer * n_embd * context * context
    return operations, (w + 2 * n_layer * n_embd * context) * bytes_per_number
