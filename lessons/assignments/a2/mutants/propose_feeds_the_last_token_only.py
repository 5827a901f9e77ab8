"""You feed only the last token; the cache may lack two (after a full acceptance it does) or the whole prompt."""

FAILS = "a2.q5.law"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        rows.append(draft.score([*tokens, *drafted][-1:])[-1])
        drafted.append(noise.categorical(rows[-1]))
    return drafted, np.array(rows)
