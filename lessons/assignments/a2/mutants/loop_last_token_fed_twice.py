"""The last token of the prompt is fed twice: either the prefill leaves it out, or the first step does not feed it
again.
"""

FAILS = "a2.q6.law"

right_loop = speculative


class Doubling:
    def __init__(self, session, prompt):
        self.score, self.rollback = session.score, lambda length: session.rollback(length + 1)
        self.length = lambda: max(0, session.length() - 1)
        session.score(prompt)


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    if max_tokens == 0:
        return []
    return right_loop(Doubling(target, prompt), draft, prompt, max_tokens, gamma, noise, eos)
