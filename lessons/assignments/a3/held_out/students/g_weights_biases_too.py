"""Counts the biases as well."""

FAILS = "a3.q5.weights"
MISTAKE = "weights_with_biases"


def count_weights(n_layer, n_embd, vocab_size):
    attention = n_embd * 3 * n_embd + 3 * n_embd + n_embd * n_embd + n_embd
    mlp = n_embd * 4 * n_embd + 4 * n_embd + 4 * n_embd * n_embd + n_embd
    return n_layer * (attention + mlp) + n_embd * vocab_size
