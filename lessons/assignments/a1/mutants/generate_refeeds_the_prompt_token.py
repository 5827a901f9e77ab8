"""You feed the last token of the prompt twice: its row in the prefill already gives the first new token."""

FAILS = "a1.q7.greedy"


def generate(params, n_head, prompt, max_tokens):
    cache = new_cache(params, n_head, len(prompt) + max_tokens + 1)
    forward_cached(params, n_head, prompt, cache)
    tokens = list(prompt)
    for _ in range(max_tokens):
        tokens.append(int(np.argmax(forward_cached(params, n_head, tokens[-1:], cache)[0])))
    return tokens[len(prompt) :]
