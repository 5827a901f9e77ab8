"""Returns, for each token, the row that came after it, not the one it was drawn from."""

FAILS = "a2.q5.law"
MISTAKE = "propose_rows_of_the_next"
ALSO = ("propose_one_forward_too_many",)


def propose(draft, tokens, gamma, noise):
    if gamma == 0:
        return [], []
    row = draft.score(tokens[draft.length() :])[-1]
    out, rows = [], []
    for _ in range(gamma):
        token = noise.categorical(row)
        out.append(token)
        row = draft.score([token])[-1]
        rows.append(row)
    return out, np.array(rows)
