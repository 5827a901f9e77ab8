"""Of equal logits the highest id wins."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_ties_to_the_highest"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    out, feed = [], prompt
    for _ in range(max_tokens):
        row = forward_cached(params, n_head, feed, cache)[-1]
        best = 0
        for i, value in enumerate(row):
            if value >= row[best]:
                best = i
        out.append(best)
        feed = [best]
    return out
