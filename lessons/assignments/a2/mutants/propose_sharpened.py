"""You draw from a sharpened row (a lower temperature) but report the unsharpened one."""

FAILS = "a2.q5.law"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        text = [*tokens, *drafted]
        rows.append(draft.score(text[draft.length() :])[-1])
        drafted.append(noise.categorical(rows[-1] ** 2 / (rows[-1] ** 2).sum()))
    return drafted, np.array(rows)
