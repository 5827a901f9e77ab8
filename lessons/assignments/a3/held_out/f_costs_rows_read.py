"""Weights are read per row."""

FAILS = "a3.q5.costs"
MISTAKE = "costs_read_per_row"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    return (2 * w + 4 * n_layer * n_embd * context) * rows, (
        w * rows + 2 * n_layer * n_embd * context
    ) * bytes_per_number
