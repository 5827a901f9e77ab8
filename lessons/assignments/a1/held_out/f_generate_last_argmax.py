"""Of equal logits the last."""

FAILS = "a1.q7.greedy"
MISTAKE = "generate_ties_to_the_highest"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens)
    out, new = [], list(prompt)
    for _ in range(max_tokens):
        row = forward_cached(params, n_head, new, cache)[-1]
        new = [int(np.argsort(row, kind="stable")[-1])]
        out += new
    return out
