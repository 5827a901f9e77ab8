"""You add the new rows' keys and values to the bytes; only what is read counts, the weights and the cached tokens."""

FAILS = "a3.q5.costs"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * weights * rows + 4 * n_layer * n_embd * context * rows
    return operations, (weights + 2 * n_layer * n_embd * (context + rows)) * bytes_per_number
