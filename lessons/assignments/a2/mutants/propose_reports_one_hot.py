"""You report one-hot rows; report the distribution each token was drawn from."""

FAILS = "a2.q5.law"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        text = [*tokens, *drafted]
        row = draft.score(text[draft.length() :])[-1]
        drafted.append(noise.categorical(row))
        rows.append(np.eye(len(row))[drafted[-1]])
    return drafted, np.array(rows)
