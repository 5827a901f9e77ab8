"""The rows lack the first and have one too late."""

FAILS = "a2.q5.law"
MISTAKE = ""


def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((list(tokens) + out)[draft.length() :])[-1]
        out.append(noise.categorical(row))
        rows.append(row)
    return out, np.array(rows[1:] + rows[:1])
