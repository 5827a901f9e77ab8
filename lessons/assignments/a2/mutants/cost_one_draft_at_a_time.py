"""You score the drafts one by one; all of them go through the target in one forward."""

FAILS = "a2.q6.cost"

right_loop = speculative


class OneByOne:
    def __init__(self, session):
        self.session, self.rollback, self.length = session, session.rollback, session.length

    def score(self, tokens):
        return np.concatenate([self.session.score([token]) for token in tokens])


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(OneByOne(target), draft, prompt, max_tokens, gamma, noise, eos)
