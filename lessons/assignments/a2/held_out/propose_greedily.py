"""The mode, with soft rows."""

FAILS = "a2.q5.law"
MISTAKE = "propose_argmax"


def propose(draft, tokens, gamma, noise):
    text, rows = list(tokens), []
    for _ in range(gamma):
        row = draft.score(text[draft.length() :])[-1]
        rows.append(row)
        text.append(int(row.argmax()))
    return text[len(tokens) :], np.array(rows)
