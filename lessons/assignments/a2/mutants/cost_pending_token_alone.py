"""You feed the pending token in a forward of its own before the drafts; feed it together with them."""

FAILS = "a2.q6.cost"

right_loop = speculative


class Alone:
    def __init__(self, session):
        self.session, self.rollback, self.length = session, session.rollback, session.length

    def score(self, tokens):
        first = self.session.score(tokens[:1])
        return np.concatenate([first, self.session.score(tokens[1:])]) if len(tokens) > 1 else first


def speculative(target, draft, prompt, max_tokens, gamma, noise, eos=None):
    return right_loop(Alone(target), draft, prompt, max_tokens, gamma, noise, eos)
