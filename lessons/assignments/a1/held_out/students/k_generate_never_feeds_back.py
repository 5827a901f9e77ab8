"""Reads all tokens from the prompt's last row."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_later_tokens"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    logits = forward_cached(params, n_head, prompt, cache)
    return [int(np.argmax(logits[-1])) for _ in range(max_tokens)]
