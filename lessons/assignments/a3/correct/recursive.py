"""Expected steps by memoised recursion; costs layer by layer."""

from functools import cache


def expected_steps(num_tokens, alpha, gamma):
    law = [float(prob) for prob in tokens_law(alpha, gamma)]

    @cache
    def steps(left):
        return 0.0 if left <= 0 else 1.0 + sum(prob * steps(left - k) for k, prob in enumerate(law, 1))

    return steps(num_tokens)


def forward_costs(n_layer, n_embd, vocab_size, rows, context, bytes_per_number):
    operations = numbers = 0
    for shape in [(n_embd, 3 * n_embd), (n_embd, n_embd), (n_embd, 4 * n_embd), (4 * n_embd, n_embd)] * n_layer:
        operations += 2 * shape[0] * shape[1] * rows
        numbers += shape[0] * shape[1]
    for _ in range(n_layer):
        operations += rows * context * n_embd * 2 + rows * context * n_embd * 2
        numbers += 2 * context * n_embd
    operations += 2 * rows * n_embd * vocab_size
    return float(operations), float((numbers + n_embd * vocab_size) * bytes_per_number)


def tau_by_position(acceptances):
    expected = 1.0
    for acceptance in reversed(acceptances):
        expected = 1.0 + acceptance * expected
    return expected
