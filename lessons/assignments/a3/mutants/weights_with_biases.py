"""You count the biases; only the matrices are asked for."""

FAILS = "a3.q5.weights"


def count_weights(n_layer, n_embd, vocab_size):
    return n_layer * (12 * n_embd**2 + 9 * n_embd) + vocab_size * n_embd
