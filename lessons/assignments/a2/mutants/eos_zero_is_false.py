"""You test `if eos`: token 0 counts as no eos at all. Test `if eos is not None`."""

FAILS = "a2.q6.ends"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, draft, prompt, max_tokens, gamma, noise, eos if eos else None)
