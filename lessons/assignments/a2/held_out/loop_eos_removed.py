"""The end token is taken off."""

FAILS = "a2.q6.ends"
MISTAKE = "eos_left_out"

loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    made = loop(target, draft, prompt, max_tokens, gamma, noise, eos)
    if made and made[-1] == eos:
        made.pop()
    return made
