"""You take the largest of all logits; only the last row says what comes next."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    generated, pending = [], list(prompt)
    while len(generated) < max_tokens:
        logits = forward_cached(params, n_head, pending, cache)
        pending = [int(np.argmax(logits) % logits.shape[1])]
        generated += pending
    return generated
