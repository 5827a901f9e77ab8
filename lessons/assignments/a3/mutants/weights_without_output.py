"""The output matrix, C x V, is missing: it is read in every forward."""

FAILS = "a3.q5.weights"


def count_weights(n_layer, n_embd, vocab_size):
    return 12 * n_layer * n_embd**2
