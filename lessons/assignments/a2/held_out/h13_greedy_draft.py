"""Drafts the likeliest token and reports the whole row."""

MISTAKE = "propose_argmax"


def propose(draft, tokens, gamma, noise):
    out = []
    rows = []
    while len(out) < gamma:
        row = draft.score((tokens + out)[draft.length() :])[-1]
        out.append(int(row.argmax()))
        rows.append(row)
    return out, np.asarray(rows)
