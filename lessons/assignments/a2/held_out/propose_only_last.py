"""Feeds text[-1:]."""

FAILS = "a2.q5.law"
MISTAKE = "propose_feeds_the_last_token_only"


def propose(draft, tokens, gamma, noise):
    text, rows = list(tokens), []
    for _ in range(gamma):
        rows.append(draft.score(text[-1:])[-1])
        text.append(noise.categorical(rows[-1]))
    return text[len(tokens) :], np.array(rows)
