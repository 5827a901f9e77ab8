"""With max_tokens = 0 you still generate."""

FAILS = "a2.q6.ends"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max(1, max_tokens), gamma, noise, eos)
