"""You count the embedding table besides the output matrix; looking up a row is no multiplication."""

FAILS = "a3.q5.weights"


def count_weights(n_layer, n_embd, vocab_size):
    return 12 * n_layer * n_embd**2 + 2 * vocab_size * n_embd
