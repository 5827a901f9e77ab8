"""Sorts upwards and takes the last but one entry."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_first_token"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    out, feed = [], list(prompt)
    for _ in range(max_tokens):
        order = np.argsort(forward_cached(params, n_head, feed, cache)[-1])
        feed = [int(order[-2])]
        out.extend(feed)
    return out
