"""You run the target once more for the bonus token; its row came with the rows of the drafts."""

FAILS = "a2.q6.cost"

right_loop = speculative


class Twice:
    def __init__(self, session):
        self.session, self.rollback, self.length = session, session.rollback, session.length

    def score(self, tokens):
        rows = self.session.score(tokens)
        self.session.rollback(self.session.length() - 1)
        return np.concatenate([rows[:-1], self.session.score(tokens[-1:])])


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(Twice(target), draft, prompt, max_tokens, gamma, noise, eos)
