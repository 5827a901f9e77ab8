"""You never draft: this is plain decoding, one target forward per token."""

FAILS = "a2.q6.cost"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max_tokens, 0, noise, eos)
