"""You feed what the cache lacks one token at a time; one forward takes them all."""

FAILS = "a2.q5.cost"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        for token in [*tokens, *drafted][draft.length() :]:
            row = draft.score([token])[-1]
        rows.append(row)
        drafted.append(noise.categorical(row))
    return drafted, np.array(rows)
