"""You count the output matrix once per layer; there is one."""

FAILS = "a3.q5.weights"


def count_weights(n_layer, n_embd, vocab_size):
    return n_layer * (12 * n_embd**2 + vocab_size * n_embd)
