"""You read the cached keys and values once per row; a forward reads them once."""

FAILS = "a3.q5.costs"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * rows * weights + 4 * rows * context * n_layer * n_embd
    return operations, bytes_per_number * (weights + rows * 2 * n_layer * context * n_embd)
