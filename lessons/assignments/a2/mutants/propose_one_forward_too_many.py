"""You feed the last draft too, a forward nobody needs: gamma tokens take gamma forwards."""

FAILS = "a2.q5.cost"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        text = [*tokens, *drafted]
        rows.append(draft.score(text[draft.length() :])[-1])
        drafted.append(noise.categorical(rows[-1]))
    if drafted:
        draft.score(drafted[-1:])
    return drafted, np.array(rows)
