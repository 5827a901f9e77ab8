"""With each draft you return the row behind it; return the row it was drawn from."""

FAILS = "a2.q5.law"


def propose(draft, tokens, gamma, noise):
    if not gamma:
        return [], np.zeros((0, 1))
    row, drafted, rows = draft.score(tokens[draft.length() :])[-1], [], []
    for _ in range(gamma):
        drafted.append(noise.categorical(row))
        row = draft.score(drafted[-1:])[-1]
        rows.append(row)
    return drafted, np.array(rows)
