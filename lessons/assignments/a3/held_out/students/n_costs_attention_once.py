"""Counts scores and forgets the weighted sum of values."""

FAILS = "a3.q5.costs"
MISTAKE = "costs_attention_half"


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    attention = 2 * n_layer * n_embd * context
    return rows * (2 * w + attention), bytes_per_number * (w + 2 * n_layer * context * n_embd)
