"""You empty the draft's cache and feed it the whole text in every step."""

FAILS = "a2.q6.cost"

right_loop = speculative


class Forgetful:
    def __init__(self, session):
        self.score, self.length, self.session = session.score, session.length, session

    def rollback(self, length):
        self.session.rollback(0)


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(target, Forgetful(draft), prompt, max_tokens, gamma, noise, eos)
