"""Your text goes on behind eos."""

FAILS = "a2.q6.ends"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max_tokens, gamma, noise)
