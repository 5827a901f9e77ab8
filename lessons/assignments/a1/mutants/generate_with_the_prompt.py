"""You return the prompt too; only the new tokens are wanted."""

FAILS = "a1.q7.greedy"

right_generate = generate


def generate(params, n_head, prompt, max_tokens):
    return list(prompt) + right_generate(params, n_head, prompt, max_tokens)
