"""You empty the cache and feed the whole text again: the right rows at the cost the cache is there to save."""

FAILS = "a2.q5.cost"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        draft.rollback(0)
        rows.append(draft.score([*tokens, *drafted])[-1])
        drafted.append(noise.categorical(rows[-1]))
    return drafted, np.array(rows)
