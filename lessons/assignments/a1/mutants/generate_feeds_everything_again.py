"""You feed the whole text on top of a cache that already holds it; feed only the last token."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, (len(prompt) + max_tokens) * (max_tokens + 1))
    wide = dict(params, wpe=np.resize(params["wpe"], (2000, params["wpe"].shape[1])))
    tokens = list(prompt)
    for _ in range(max_tokens):
        tokens.append(int(np.argmax(forward_cached(wide, n_head, tokens, cache)[-1])))
    return tokens[len(prompt) :]
