"""Draws from a colder row than it reports: q is not what the token was drawn from."""

MISTAKE = "propose_sharpened"


def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    for _ in range(gamma):
        row = draft.score((tokens + out)[draft.length() :])[-1]
        cold = np.exp(np.log(row) / 0.5)
        out.append(noise.categorical(cold / cold.sum()))
        rows.append(row)
    return out, np.array(rows)
