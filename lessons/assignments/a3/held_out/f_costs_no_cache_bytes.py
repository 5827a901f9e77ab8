"""The cache is not read."""

FAILS = "a3.q5.weights"
MISTAKE = ""


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    w = count_weights(n_layer, n_embd, vocab_size)
    return (2 * w + 4 * n_layer * n_embd * context) * rows, w * bytes_per_number
