"""You return one token too many."""

FAILS = "a1.q7.greedy"

right_generate = generate


def generate(params, n_head, prompt, max_tokens):
    return right_generate(params, n_head, prompt, max_tokens + 1)
