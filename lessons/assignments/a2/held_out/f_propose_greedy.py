"""Argmax drafts."""

FAILS = "a2.q5.law"
MISTAKE = "propose_argmax"


def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((list(tokens) + out)[draft.length() :])[-1]
        rows.append(row)
        out.append(int(np.argmax(row)))
    return out, np.array(rows)
