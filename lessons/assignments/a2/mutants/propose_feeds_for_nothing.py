"""With gamma = 0 you still run the draft model."""

FAILS = "a2.q5.cost"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    row = draft.score(tokens[draft.length() :])[-1]
    for i in range(gamma):
        rows.append(row)
        drafted.append(noise.categorical(row))
        if i < gamma - 1:
            row = draft.score(drafted[-1:])[-1]
    return drafted, np.array(rows)
