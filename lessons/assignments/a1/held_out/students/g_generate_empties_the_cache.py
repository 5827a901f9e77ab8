"""Rolls back to nothing and feeds the whole text for each token."""

FAILS = "a1.q7.cost"
MISTAKE = "generate_without_cache"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    text = list(prompt)
    for _ in range(max_tokens):
        rollback(cache, 0)
        logits = forward_cached(params, n_head, text, cache)
        text.append(int(np.argmax(logits[-1])))
    return text[len(prompt) :]
