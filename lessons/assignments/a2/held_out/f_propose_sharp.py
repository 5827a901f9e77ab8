"""Q squared is drawn from, q is returned."""

FAILS = "a2.q5.law"
MISTAKE = "propose_sharpened"


def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((list(tokens) + out)[draft.length() :])[-1]
        rows.append(row)
        out.append(noise.categorical(row**2 / (row**2).sum()))
    return out, np.array(rows)
