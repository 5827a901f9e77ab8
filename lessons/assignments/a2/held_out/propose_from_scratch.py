"""Empties the cache each time."""

FAILS = "a2.q5.cost"
MISTAKE = "propose_starts_over"


def propose(draft, tokens, gamma, noise):
    text, rows = list(tokens), []
    for _ in range(gamma):
        draft.rollback(0)
        rows.append(draft.score(text)[-1])
        text.append(noise.categorical(rows[-1]))
    return text[len(tokens) :], np.array(rows)
