"""Appends the new tokens to the caller's prompt."""

FAILS = "a1.q7.greedy"
MISTAKE = "changes_its_arguments"


def generate(params, n_head, prompt, max_tokens):
    start = len(prompt)
    cache = new_cache(params, n_head, start + max_tokens)
    text = prompt
    fed = 0
    while len(text) < start + max_tokens:
        logits = forward_cached(params, n_head, text[fed:], cache)
        fed = len(text)
        text.append(int(logits[-1].argmax()))
    return text[start:]
