"""You read the first row of the logits; the next token follows the last row."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    generated, pending = [], list(prompt)
    while len(generated) < max_tokens:
        logits = forward_cached(params, n_head, pending, cache)
        pending = [int(np.argmax(logits[0]))]
        generated += pending
    return generated
