"""Never takes the token it took just before."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_later_tokens"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    text, feed = [], list(prompt)
    while len(text) < max_tokens:
        row = forward_cached(params, n_head, feed, cache)[-1].copy()
        if text:
            row[text[-1]] = -np.inf
        feed = [int(np.argmax(row))]
        text.append(feed[0])
    return text
