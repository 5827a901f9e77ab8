"""You take the smallest logit; the likeliest token has the largest."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    generated, pending = [], list(prompt)
    while len(generated) < max_tokens:
        pending = [int(np.argmin(forward_cached(params, n_head, pending, cache)[-1]))]
        generated += pending
    return generated
