"""Without the output matrix."""

FAILS = "a3.q5.weights"
MISTAKE = "weights_without_output"


def count_weights(n_layer, n_embd, vocab_size):
    return 12 * n_layer * n_embd**2
