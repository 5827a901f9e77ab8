"""Feeds the last draft as well."""

FAILS = "a2.q5.cost"
MISTAKE = "propose_one_forward_too_many"


def propose(draft, tokens, gamma, noise):
    out, rows = [], []
    if not gamma:
        return [], np.zeros((0, 0))
    row = draft.score(list(tokens)[draft.length() :])[-1]
    for _ in range(gamma):
        rows.append(row)
        out.append(noise.categorical(row))
        row = draft.score([out[-1]])[-1]
    return out, np.array(rows)
