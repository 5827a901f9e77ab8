"""A fresh cache per token."""

FAILS = "a1.q7.cost"
MISTAKE = "generate_without_cache"


def generate(params, n_head, prompt, max_tokens):
    text = list(prompt)
    for _ in range(max_tokens):
        cache = new_cache(params, n_head, len(text))
        text.append(int(np.argmax(forward_cached(params, n_head, text, cache)[-1])))
    return text[len(prompt) :]
