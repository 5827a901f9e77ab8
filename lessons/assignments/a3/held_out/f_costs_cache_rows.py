"""The cache is read once per row."""

FAILS = "a3.q5.costs"
MISTAKE = "costs_cache_per_row"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    return (2 * w + 4 * n_layer * n_embd * context) * rows, (
        w + 2 * n_layer * n_embd * context * rows
    ) * bytes_per_number
