"""wte as input and as output."""

FAILS = "a3.q5.weights"
MISTAKE = "weights_with_embeddings"


def count_weights(n_layer, n_embd, vocab_size):
    return vocab_size * n_embd + n_layer * 12 * n_embd**2 + n_embd * vocab_size
