"""You read the first row of a feed; where several tokens are fed, the next token follows the last row."""

FAILS = "a2.q5.law"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        text = [*tokens, *drafted]
        rows.append(draft.score(text[draft.length() :])[0])
        drafted.append(noise.categorical(rows[-1]))
    return drafted, np.array(rows)
