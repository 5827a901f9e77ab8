"""Of equal logits you take the highest id; ties go to the lowest."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    generated, pending = [], list(prompt)
    while len(generated) < max_tokens:
        row = forward_cached(params, n_head, pending, cache)[-1]
        pending = [len(row) - 1 - int(np.argmax(row[::-1]))]
        generated += pending
    return generated
