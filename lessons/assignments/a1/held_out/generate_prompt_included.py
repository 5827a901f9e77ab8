"""Returns the whole text."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_with_the_prompt"


def generate(params, n_head, prompt, max_tokens):
    tokens = list(prompt)
    for _ in range(max_tokens):
        tokens += [int(forward(params, n_head, tokens)[-1].argmax())]
    return tokens
