"""The attention's output projection, C x C, is missing."""

FAILS = "a3.q5.weights"


def count_weights(n_layer, n_embd, vocab_size):
    return 11 * n_layer * n_embd**2 + vocab_size * n_embd
