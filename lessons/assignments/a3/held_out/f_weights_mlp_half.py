"""The MLP once."""

FAILS = "a3.q5.weights"
MISTAKE = "weights_half_mlp"


def count_weights(n_layer, n_embd, vocab_size):
    return 8 * n_layer * n_embd**2 + vocab_size * n_embd
