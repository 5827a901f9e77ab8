"""Draws each draft after the text alone, going back after each."""

FAILS = "a2.q5.law"
MISTAKE = "propose_all_from_one_row"


def propose(draft, tokens, gamma, noise):
    names, laws = [], []
    for _ in range(gamma):
        row = draft.score(tokens[draft.length() :])[-1]
        draft.rollback(len(tokens) - 1)
        laws.append(row)
        names.append(noise.categorical(row))
    return names, np.array(laws)
