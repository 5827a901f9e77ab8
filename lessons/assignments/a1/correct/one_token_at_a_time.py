"""A feed of several tokens is a loop over single ones."""

block_forward = forward_cached


def forward_cached(params, n_head, tokens, cache):
    return np.concatenate([block_forward(params, n_head, [token], cache) for token in tokens])


def generate(params, n_head, prompt, max_tokens):
    cache, tokens = new_cache(params, n_head, len(prompt) + max_tokens), list(prompt)
    for token in prompt[:-1]:
        forward_cached(params, n_head, [token], cache)
    for _ in range(max_tokens):
        tokens.append(int(forward_cached(params, n_head, tokens[-1:], cache)[0].argmax()))
    return tokens[len(prompt) :]
