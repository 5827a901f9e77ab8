"""Your max_tokens counts the prompt; it counts generated tokens."""

FAILS = "a2.q6.ends"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max(0, max_tokens - len(prompt)), gamma, noise, eos)
