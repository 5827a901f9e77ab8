"""Stops at token 0, which it takes for the end of the text."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_too_short"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    new, feed = [], prompt
    for _ in range(max_tokens):
        token = int(forward_cached(params, n_head, feed, cache)[-1].argmax())
        if not token:
            break
        new.append(token)
        feed = [token]
    return new
