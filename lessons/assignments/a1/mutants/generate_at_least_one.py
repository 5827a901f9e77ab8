"""With max_tokens = 0 you still return a token."""

FAILS = "a1.q7.greedy"

right_generate = generate


def generate(params, n_head, prompt, max_tokens):
    return right_generate(params, n_head, prompt, max(1, max_tokens))
