"""Counts the output matrix in every layer... and the attention's once."""

FAILS = "a3.q5.weights"


def count_weights(n_layer, n_embd, vocab_size):
    attention = 4 * n_embd * n_embd
    mlp = 8 * n_embd * n_embd
    return attention + n_layer * mlp + vocab_size * n_embd
