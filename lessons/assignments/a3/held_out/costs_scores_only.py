"""Forgets the weighted sum of the values."""

FAILS = "a3.q5.costs"
MISTAKE = "costs_attention_half"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    scores = 2 * rows * context * n_embd * n_layer
    return 2 * rows * w + scores, (w + 2 * n_layer * n_embd * context) * bytes_per_number
