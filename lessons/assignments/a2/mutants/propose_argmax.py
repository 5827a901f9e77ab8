"""You draft the likeliest token but report the soft row; then q is not what the token was drawn from."""

FAILS = "a2.q5.law"


def propose(draft, tokens, gamma, noise):
    drafted, rows = [], []
    for _ in range(gamma):
        text = [*tokens, *drafted]
        rows.append(draft.score(text[draft.length() :])[-1])
        drafted.append(int(np.argmax(rows[-1])))
    return drafted, np.array(rows)
