"""You feed the last draft in a forward of its own to get the bonus's row; feed it with the others."""

FAILS = "a2.q6.cost"


right_loop = speculative


class InTwo:
    def __init__(self, session):
        self.session, self.rollback, self.length = session, session.rollback, session.length

    def score(self, tokens):
        if len(tokens) < 2:
            return self.session.score(tokens)
        return np.concatenate([self.session.score(tokens[:-1]), self.session.score(tokens[-1:])])


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(InTwo(target), draft, prompt, max_tokens, gamma, noise, eos)
