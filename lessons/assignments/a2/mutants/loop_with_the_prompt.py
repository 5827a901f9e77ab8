"""You return the prompt too; only the generated tokens are wanted."""

FAILS = "a2.q6.ends"

right_loop = speculative


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return [*prompt, *right_loop(target, draft, prompt, max_tokens, gamma, noise, eos)]
