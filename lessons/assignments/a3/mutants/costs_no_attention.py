"""The attention over the context is missing."""

FAILS = "a3.q5.costs"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    weights = count_weights(n_layer, n_embd, vocab_size)
    return 2 * weights * rows, weights * bytes_per_number
