"""Reads the first row of what it feeds."""

FAILS = "a2.q5.law"
MISTAKE = "propose_from_the_first_row"


def propose(draft, tokens, gamma, noise):
    out, probs = [], []
    for _ in range(gamma):
        rows = draft.score((tokens + out)[draft.length() :])
        probs.append(rows[0])
        out.append(noise.categorical(rows[0]))
    return out, np.array(probs)
