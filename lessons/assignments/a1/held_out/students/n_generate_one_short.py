"""Leaves the first generated token out of the result and makes one less."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_drops_the_first"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens + 1)
    token = int(forward_cached(params, n_head, prompt, cache)[-1].argmax())
    out = []
    for _ in range(max_tokens):
        token = int(forward_cached(params, n_head, [token], cache)[-1].argmax())
        out.append(token)
    return out
