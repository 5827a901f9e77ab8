"""9 C^2 a layer: c_attn is C x C... (12 - 3)."""

FAILS = "a3.q5.weights"
MISTAKE = ""


def count_weights(n_layer, n_embd, vocab_size):
    return n_layer * (n_embd * n_embd + n_embd * n_embd + 8 * n_embd * n_embd) + vocab_size * n_embd
