"""Draws the next token instead of taking the likeliest."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    rng = np.random.default_rng(0)
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    text, feed = [], list(prompt)
    for _ in range(max_tokens):
        row = forward_cached(params, n_head, feed, cache)[-1]
        p = np.exp(row - row.max())
        feed = [int(rng.choice(len(p), p=p / p.sum()))]
        text += feed
    return text
