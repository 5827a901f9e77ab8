"""You feed the whole text on top of what the cache already holds; feed only what it lacks."""

FAILS = "a2.q5.law"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        rows.append(draft.score([*tokens, *drafted])[-1])
        drafted.append(noise.categorical(rows[-1]))
    return drafted, np.array(rows)
