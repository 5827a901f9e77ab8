"""3 + 8 instead of 3 + 1 + 8."""

FAILS = "a3.q5.weights"
MISTAKE = "weights_no_projection"


def count_weights(n_layer, n_embd, vocab_size):
    return n_layer * (3 + 4 + 4) * n_embd * n_embd + n_embd * vocab_size
