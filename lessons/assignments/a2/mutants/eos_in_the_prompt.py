"""An eos in the prompt ends your text at once; only a generated one does."""

FAILS = "a2.q6.ends"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    if eos is not None and eos in prompt:
        return []
    return right_loop(target, draft, prompt, max_tokens, gamma, noise, eos)
