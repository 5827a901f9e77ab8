"""The first generated token is missing from your result."""

FAILS = "a2.q6.ends"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max_tokens + 1, gamma, noise, eos)[1:]
