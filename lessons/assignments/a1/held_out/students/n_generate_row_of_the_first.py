"""Reads the row of the first token fed."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_from_the_first_row"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    out, feed = [], prompt
    for _ in range(max_tokens):
        row = forward_cached(params, n_head, feed, cache)[0]
        out.append(int(row.argmax()))
        feed = out[-1:]
    return out
