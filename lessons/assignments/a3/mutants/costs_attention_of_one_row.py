"""You count attention once; every row has a query of its own."""

FAILS = "a3.q5.costs"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = 2 * weights * rows + 4 * n_layer * n_embd * context
    return operations, (weights + 2 * n_layer * n_embd * context) * bytes_per_number
