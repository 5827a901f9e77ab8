"""Draws from the two likeliest tokens, and reports the whole row."""

FAILS = "a2.q5.law"
MISTAKE = "propose_sharpened"


def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((tokens + out)[draft.length() :])[-1]
        top = np.where(row >= np.sort(row)[-2], row, 0.0)
        out.append(noise.categorical(top / top.sum()))
        rows.append(row)
    return out, np.array(rows)
