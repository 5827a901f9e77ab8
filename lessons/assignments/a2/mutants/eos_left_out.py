"""You leave eos out of the result; it is the last generated token."""

FAILS = "a2.q6.ends"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    tokens = right_loop(target, draft, prompt, max_tokens, gamma, noise, eos)
    return tokens[:-1] if eos is not None and tokens[-1:] == [eos] else tokens
