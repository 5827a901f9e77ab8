"""All your drafts come from one row; each needs the distribution after the draft before it."""

FAILS = "a2.q5.law"


def propose(draft, tokens, gamma, noise):
    if gamma == 0:
        return [], np.zeros((0, 0))
    row = draft.score(tokens[draft.length() :])[-1]
    return [noise.categorical(row) for _ in range(gamma)], np.array([row] * gamma)
