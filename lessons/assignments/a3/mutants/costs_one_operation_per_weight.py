"""You count one operation per weight and row; there are two, a multiplication and an addition."""

FAILS = "a3.q5.costs"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    operations = weights * rows + 2 * n_layer * n_embd * context * rows
    return operations, (weights + 2 * n_layer * n_embd * context) * bytes_per_number
