"""Makes a cache with room for the new tokens only, so the prompt does not fit."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, max_tokens)
    row = forward_cached(params, n_head, prompt, cache)[-1]
    text = []
    for _ in range(max_tokens):
        token = int(np.argmax(row))
        text.append(token)
        if len(text) < max_tokens:
            row = forward_cached(params, n_head, [token], cache)[-1]
    return text
