"""Prefills, then feeds the first token without recording it."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_drops_the_first"


def generate(params, n_head, prompt, max_tokens):
    cache, out = new_cache(params, n_head, len(prompt) + max_tokens + 1), []
    last = int(forward_cached(params, n_head, prompt, cache)[-1].argmax())
    for _ in range(max_tokens):
        last = int(forward_cached(params, n_head, [last], cache)[-1].argmax())
        out.append(last)
    return out
